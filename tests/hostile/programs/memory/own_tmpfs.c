/* ---
class = "memory"
attempts = "mount and fill a tmpfs without a size in new namespaces"
must = """\
the program cannot map the ids that creating files needs; otherwise the memory limit would end \
the run"""
held_by = "read-only procfs, which prevents id maps; memory cgroup"
profiles = ["none"]
expect = "contained or memory_limit"
with = ["proc"]
--- */
#include "hostile.h"

static void attack(void)
{
    static char block[MIB] = { 1 };
    new_namespaces(CLONE_NEWNS);
    must(mount("none", "/tmp", "tmpfs", 0, "size=1G"));
    refused("an id map", file_write("/proc/self/uid_map", "0 0 1"));
    int fd = open("/tmp/file", O_RDWR | O_CREAT, 0600);
    if (fd < 0 && errno == EOVERFLOW)
        return; /* The new user namespace maps none of the program's ids. */
    must(fd);
    for (int i = 0; i < 160; i++)
        if (write(fd, block, MIB) < 0)
            return;
    escaped("160 MiB");
}

/* ---
class = "memory"
attempts = "mount tmpfs of its own, without a size, in a namespace of its own, and fill it"
must = "it cannot map ids to make files with; if it could, the memory limit would end it"
held_by = "read-only procfs, so no id maps; memory cgroup"
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
        return; /* no id of ours is known there */
    must(fd);
    for (int i = 0; i < 160; i++)
        if (write(fd, block, MIB) < 0)
            return;
    escaped("160 MiB");
}

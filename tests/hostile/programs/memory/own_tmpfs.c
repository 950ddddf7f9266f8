/* ---
class = "memory"
tries = "mount tmpfs of its own, without a size, in a namespace of its own, and fill it"
must = "its memory is the run's"
held_by = "memory cgroup"
profiles = ["none"]
expect = "memory_limit"
but = [{ when = ["rlimit"], expect = "escaped", exception = "RLIMIT_AS does not count files; the default profile forbids namespaces" }]
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    static char block[MIB] = { 1 };
    new_namespaces(CLONE_NEWNS);
    must(mount("none", "/tmp", "tmpfs", 0, "size=1G"));
    int fd = must(open("/tmp/file", O_RDWR | O_CREAT, 0600));
    for (int i = 0; i < 160; i++)
        if (write(fd, block, MIB) < 0)
            return;
    escaped("160 MiB");
}

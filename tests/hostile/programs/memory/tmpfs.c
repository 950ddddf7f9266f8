/* ---
class = "memory"
attempts = "fill a file on the tmpfs"
must = "the memory limit ends the run"
held_by = "memory cgroup; a size limit of the tmpfs, if the world sets one"
expect = "memory_limit"
control = "limits"

[[except]]
when = ["rlimit"]
expect = "escaped"
exception = "RLIMIT_AS does not count files; give the tmpfs a size"
--- */
#include "hostile.h"

static void attack(void)
{
    static char block[MIB] = { 1 };
    int fd = must(open("/tmp/file", O_RDWR | O_CREAT, 0600));
    for (int i = 0; i < 160; i++)
        if (write(fd, block, MIB) < 0)
            return;
    escaped("160 MiB");
}

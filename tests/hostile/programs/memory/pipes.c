/* ---
class = "memory"
attempts = "fill the buffers of many pipes of the largest permitted size"
must = "a limit applies: on memory, on a user's pages in pipes, or on descriptors"
held_by = "memory cgroup; pipe-user-pages-soft"
expect = "memory_limit or contained"
limits = { memory = "32M" }

[[except]]
when = ["rlimit"]
expect = "contained"
--- */
#include "hostile.h"

static void attack(void)
{
    static char block[MIB];
    long filled = 0;
    for (int i = 0; i < 400; i++) {
        int ends[2];
        if (pipe2(ends, O_NONBLOCK) < 0)
            return;
        fcntl(ends[1], F_SETPIPE_SZ, MIB);
        for (long got; (got = write(ends[1], block, MIB)) > 0;)
            filled += got;
    }
    if (filled >= 96 * MIB)
        escaped("%ld MiB in pipes", filled / MIB);
}

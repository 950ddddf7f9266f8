/* ---
class = "memory"
attempts = "fill the buffers of Unix sockets"
must = "the memory limit ends the run"
held_by = "memory cgroup"
limits = { memory = "32M" }
expect = "memory_limit or contained"
control = "limits"

[[except]]
when = ["rlimit"]
expect = "escaped"
exception = "RLIMIT_AS does not count kernel memory; RLIMIT_NOFILE bounds it"
--- */
#include "hostile.h"

static void attack(void)
{
    static char block[64 << 10];
    long filled = 0;
    for (int i = 0; i < 500 && filled < 80 * MIB; i++) {
        int pair[2], size = 64 << 20;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0)
            return;
        setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
        for (long got; (got = write(pair[0], block, sizeof block)) > 0;)
            filled += got;
    }
    if (filled >= 80 * MIB)
        escaped("%ld MiB in sockets", filled / MIB);
}

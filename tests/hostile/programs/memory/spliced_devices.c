/* ---
class = "memory"
attempts = """\
splice single bytes of a device into sockets, each of which uses a page that the kernel charges \
to no cgroup"""
must = "splice fails as if the kernel did not support it"
held_by = "seccomp"
limits = { memory = "32M" }
control = "seccomp"

[[except]]
when = ["none"]
expect = "escaped or contained"
exception = "without a profile, splice is available, and the kernel charges its pages to no cgroup"
--- */
#include "hostile.h"
#include <sys/sendfile.h>

static void attack(void)
{
    long pages = 0;
    int zero = must(open("/dev/zero", O_RDONLY));
    for (int i = 0; i < 400 && pages * 4096 < 96 * MIB; i++) {
        int ends[2], size = 4 << 20, pair[2];
        must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair));
        must(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size));
        must(pipe2(ends, O_NONBLOCK));
        for (;;) {
            int got = 0;
            while (got < 15 && splice(zero, NULL, ends[1], NULL, 1, 0) == 1)
                got++;
            if (got == 0 && errno == EINVAL) {
                if (sendfile(pair[0], zero, NULL, 1) >= 0 || errno != EINVAL)
                    escaped("sendfile");
                return;
            }
            long sent = splice(ends[0], NULL, pair[0], NULL, got, SPLICE_F_NONBLOCK);
            if (sent <= 0)
                break;
            pages += sent;
        }
        close(ends[0]);
        close(ends[1]);
    }
    if (pages * 4096 >= 96 * MIB)
        escaped("%ld MiB of pages", pages * 4096 / MIB);
}

/* ---
class = "memory"
attempts = """\
leave thousands of unaccepted connections on a Unix socket of a run with a loopback interface"""
must = "a listening socket has at most 1,024 of them"
held_by = "the network namespace of the run (net.core.somaxconn)"
with = ["loopback"]
limits = { descriptors = 1800 }
profiles = ["default", "separate"]
--- */
#include "hostile.h"
#include <sys/un.h>

static void attack(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/tmp/pending" };
    int listener = must(socket(AF_UNIX, SOCK_STREAM, 0));
    must(bind(listener, (struct sockaddr *)&address, sizeof address));
    must(listen(listener, 4096));
    int pending = 0;
    for (; pending < 1600; pending++) {
        int fd = must(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
        if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
            close(fd);
            break;
        }
    }
    /* Servers need this many. */
    if (pending < 512)
        broken("only %d connections", pending);
    if (pending > 1100)
        escaped("%d unaccepted connections", pending);
}

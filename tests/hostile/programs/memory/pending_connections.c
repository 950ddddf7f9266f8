/* ---
class = "memory"
attempts = """\
leave thousands of unaccepted connections on a Unix socket, parts of which the kernel charges to \
no cgroup"""
must = "a listening socket has at most 128 of them"
held_by = "the network namespace of the runner (net.core.somaxconn)"
profiles = ["default", "separate"]
--- */
#include "hostile.h"
#include <sys/un.h>

#ifndef TRIED
#define TRIED 900
/* Fewer connections mean that the attack does not work. */
#define LEAST 100
#define MOST 200
#endif

static void attack(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/tmp/pending" };
    int listener = must(socket(AF_UNIX, SOCK_STREAM, 0));
    must(bind(listener, (struct sockaddr *)&address, sizeof address));
    must(listen(listener, 4096));
    int pending = 0;
    for (; pending < TRIED; pending++) {
        int fd = must(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
        if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
            close(fd);
            break;
        }
    }
    if (pending < LEAST)
        broken("only %d connections", pending);
    if (pending > MOST)
        escaped("%d unaccepted connections", pending);
}

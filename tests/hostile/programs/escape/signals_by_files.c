/* ---
class = "escape"
attempts = """\
make the kernel send SIGKILL and SIGSTOP to pid1, as owner of a descriptor with asynchronous \
notification"""
must = "pid1 receives no signal"
held_by = "PID namespace"
profiles = ["default", "none", "separate"]
--- */
#include "hostile.h"

static void attack(void)
{
    int signals[] = { SIGKILL, SIGSTOP, SIGIO, SIGCHLD, SIGTERM };
    for (int i = 0; i < 5; i++) {
        int pair[2];
        must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
        fcntl(pair[0], F_SETOWN, 1);
        fcntl(pair[0], F_SETSIG, signals[i]);
        fcntl(pair[0], F_SETFL, O_ASYNC);
        must(write(pair[1], "x", 1));
        send(pair[1], "x", 1, MSG_OOB);
    }
    sleep_ms(50);
    must(kill(1, 0));
}

/* ---
class = "time"
attempts = """\
keep the supervisor busy with a list of very many netlink sockets, so that it cannot end the run"""
must = "the run ends at its limit"
held_by = "the supervisor reads no long lists, and spends most of its time on other work"
with = ["loopback"]
limits = { memory = "1G", processes = 200, cpu = "40s", real = "3s" }
uncharged = true
expect = "real_time_limit or memory_limit"

[[except]]
when = ["rlimit"]
expect = "real_time_limit or contained"
--- */
#include "hostile.h"
#include <linux/netlink.h>

static void attack(void)
{
    for (int i = 0; i < 150; i++) {
        pid_t pid = fork();
        if (pid < 0)
            break;
        if (pid > 0)
            continue;
        for (;;) {
            int fd = socket(AF_NETLINK, SOCK_RAW, 0);
            struct sockaddr_nl address = { .nl_family = AF_NETLINK };
            if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0)
                break;
        }
        sleep(60);
        contained();
    }
    /* The program lives until the sandbox ends it, and reports its age. */
    long begin = clock_ns(CLOCK_MONOTONIC);
    while (clock_ns(CLOCK_MONOTONIC) - begin < 40000000000) {
        say("alive_ns=%ld\n", clock_ns(CLOCK_MONOTONIC) - begin);
        usleep(100 * 1000);
    }
}

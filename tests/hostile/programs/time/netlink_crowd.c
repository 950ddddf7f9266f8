/* ---
class = "time"
attempts = "keep the supervisor busy with a list of very many netlink sockets, so that it does not come to end the run"
must = "it is ended at its limit"
held_by = "the supervisor, who reads no long list, and does something else for most of its time"
with = ["loopback"]
limits = { memory = "1G", processes = 200, cpu = "40s", real = "3s" }
uncharged = true
expect = "real_time_limit or memory_limit"
except = [
  { when = ["rlimit"], expect = "real_time_limit or contained" },
]
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
    /* It lives for as long as nobody ends it, and says so. */
    long begin = clock_ns(CLOCK_MONOTONIC);
    while (clock_ns(CLOCK_MONOTONIC) - begin < 40000000000) {
        say("alive_ns=%ld\n", clock_ns(CLOCK_MONOTONIC) - begin);
        usleep(100 * 1000);
    }
}

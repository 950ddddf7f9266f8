/* ---
class = "time"
tries = "have children kill and replace each other, so that no process lives long enough to be looked at"
must = "a limit on time ends it"
held_by = "cgroup; limit on real time"
expect = "cpu_time_limit"
limits = { cpu = "400ms", real = "3s" }
but = [{ when = ["rlimit"], expect = "cpu_time_limit or real_time_limit" }]
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    for (long end = clock_ns(CLOCK_MONOTONIC) + 2500000000; clock_ns(CLOCK_MONOTONIC) < end;) {
        pid_t pid = must(fork());
        if (pid == 0)
            for (;;)
                ;
        nanosleep(&(struct timespec){ 0, 300000 }, NULL);
        kill(pid, SIGKILL);
        must(waitpid(pid, NULL, 0));
        spin_ms(1);
    }
    escaped("two and a half seconds");
}

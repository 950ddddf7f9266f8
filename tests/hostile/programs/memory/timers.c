/* ---
class = "memory"
attempts = "fill kernel memory with timers"
must = "the memory limit ends the run, or the user's pending signals are exhausted"
held_by = "memory cgroup; RLIMIT_SIGPENDING"
limits = { memory = "16M" }
expect = "memory_limit or contained"

[[except]]
when = ["rlimit"]
expect = "escaped or contained"
exception = "RLIMIT_AS does not count kernel memory; RLIMIT_SIGPENDING bounds it"
--- */
#include "hostile.h"

static void attack(void)
{
    for (int i = 0; i < 80000; i++) {
        timer_t timer;
        struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
        if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
            return;
    }
    escaped("80000 timers");
}

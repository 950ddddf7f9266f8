/* ---
class = "time"
attempts = "yield the CPU again and again, so that nobody sees it running"
must = "the CPU-time limit ends it"
held_by = "CPU time is counted at every switch"
expect = "cpu_time_limit"
limits = { cpu = "200ms" }
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < 2000000000)
        sched_yield();
    escaped("two seconds of CPU time");
}

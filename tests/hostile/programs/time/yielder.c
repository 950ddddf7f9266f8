/* ---
class = "time"
tries = "yield the CPU again and again, so that nobody sees it running"
must = "the CPU-time limit ends it"
held_by = "CPU time is counted at every switch"
expect = "cpu_time_limit"
limits = { cpu = "200ms" }
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    for (long end = clock_ns(CLOCK_MONOTONIC) + 3000000000; clock_ns(CLOCK_MONOTONIC) < end;)
        sched_yield();
    escaped("three seconds");
}

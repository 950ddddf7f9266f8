/* ---
class = "time"
attempts = "yield the CPU repeatedly, so that no measurement finds it running"
must = "the CPU-time limit ends the run"
held_by = "the kernel counts CPU time at every context switch"
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

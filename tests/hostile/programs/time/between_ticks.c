/* ---
class = "time"
attempts = "work in short turns and sleep whenever the scheduler could look, so that the work is not counted"
must = "the CPU time in the result is not less than its own clock says"
held_by = "CPU time is counted at every switch, not at ticks"
--- */
#include "hostile.h"

static void attack(void)
{
    /* Our clock began a little before the exec. */
    long begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < 200; i++) {
        for (long end = clock_ns(CLOCK_MONOTONIC) + 500000; clock_ns(CLOCK_MONOTONIC) < end;)
            ;
        nanosleep(&(struct timespec){ 0, 500000 }, NULL);
    }
    say("cpu_ns=%ld\n", clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin);
}

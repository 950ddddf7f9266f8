/* ---
class = "time"
attempts = "work in short slices and sleep at every scheduler tick, so that the work is not counted"
must = "the reported CPU time is not below that of the program's clock"
held_by = "the kernel counts CPU time at every context switch, not at ticks"
--- */
#include "hostile.h"

static void attack(void)
{
    /* The program's clock started shortly before the exec. */
    long begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < 200; i++) {
        for (long end = clock_ns(CLOCK_MONOTONIC) + 500000; clock_ns(CLOCK_MONOTONIC) < end;)
            ;
        nanosleep(&(struct timespec){ 0, 500000 }, NULL);
    }
    say("cpu_ns=%ld\n", clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin);
}

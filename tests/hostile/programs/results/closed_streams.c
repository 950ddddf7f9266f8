/* ---
class = "results"
attempts = "close all descriptors and end by a fault, with a child that holds the pipe open"
must = "the result comes when the first process is dead, with its signal"
held_by = "pid1; the PID namespace ends who holds the pipe"
expect = "signaled 11"
--- */
#include "hostile.h"

static void attack(void)
{
    if (must(fork()) == 0)
        for (;;)
            pause();
    close_range(0, ~0u, 0);
    signal(SIGSEGV, SIG_DFL);
    *(volatile int *)8 = 1;
}

/* ---
class = "results"
attempts = "close all descriptors and crash, while a child holds the pipe open"
must = "the result arrives when the first process is dead, and contains its signal"
held_by = "pid1; the PID namespace ends the process that holds the pipe"
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

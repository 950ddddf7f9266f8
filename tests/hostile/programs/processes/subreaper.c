/* ---
class = "processes"
attempts = "become the reaper of orphans instead of pid1, and exit"
must = "the orphans end with the run"
held_by = "PID namespace"
--- */
#include "hostile.h"

static void attack(void)
{
    volatile long *ready = shared_numbers();
    must(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
    if (must(fork()) == 0) {
        if (must(fork()) != 0)
            _exit(0);
        while (getppid() == 1)
            escaped("adopted by pid1 despite a subreaper");
        *ready = 1;
        for (;;)
            pause();
    }
    while (!*ready)
        sleep_ms(1);
}

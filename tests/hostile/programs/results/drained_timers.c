/* ---
class = "results"
attempts = "use up what one user may have in all of timers and queued signals, while another runs"
must = "a neighbour still has some"
held_by = "a limit for each run that is far below that of all together"
pair = "beside"
limits = { memory = "128M" }
control = "together"
--- */
#define PAIR
#include "hostile.h"

static long timer(void)
{
    timer_t timer;
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
    return timer_create(CLOCK_MONOTONIC, &event, &timer);
}

static void plant(void)
{
    /* About 500 bytes each in the kernel: the memory limit is further away than any limit on their number. */
    for (long i = 0; i < 120000 && timer() == 0; i++)
        ;
    stay();
}

static void look(void)
{
    if (timer() < 0)
        escaped("no timer (errno %d)", errno);
}

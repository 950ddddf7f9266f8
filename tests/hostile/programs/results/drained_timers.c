/* ---
class = "results"
attempts = "exhaust a user's timers and queued signals while another run is active"
must = "a neighbour can still create some"
held_by = "a limit for each run that is far below the common limit of all runs"
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
    /* The kernel uses about 500 bytes for each, so a limit on their number applies before the
     * memory limit. */
    for (long i = 0; i < 120000 && timer() == 0; i++)
        ;
    stay();
}

static void look(void)
{
    if (timer() < 0)
        escaped("no timer (errno %d)", errno);
}

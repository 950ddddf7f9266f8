/* ---
class = "time"
attempts = "interrupt itself with timers of one microsecond and their signals"
must = "a time limit ends the run"
held_by = "the supervisor; the kernel charges timers to the interrupted process"
expect = "cpu_time_limit or real_time_limit"
limits = { cpu = "300ms", real = "2s" }
--- */
#include "hostile.h"

static void nothing(int signal)
{
    (void)signal;
}

static void attack(void)
{
    signal(SIGALRM, nothing);
    signal(SIGUSR1, nothing);
    must(setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 1 }, { 0, 1 } }, NULL));
    for (int i = 0; i < 100; i++) {
        timer_t timer;
        must(timer_create(CLOCK_MONOTONIC,
                          &(struct sigevent){ .sigev_notify = SIGEV_SIGNAL,
                              .sigev_signo = SIGUSR1 }, &timer));
        must(timer_settime(timer, 0, &(struct itimerspec){ { 0, 1000 }, { 0, 1000 } }, NULL));
    }
    for (long end = clock_ns(CLOCK_MONOTONIC) + 4000000000; clock_ns(CLOCK_MONOTONIC) < end;)
        pause();
    escaped("four seconds of signals");
}

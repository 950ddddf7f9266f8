/* ---
class = "processes"
attempts = """\
leave a daemon: double fork, setsid, all signals ignored and blocked, all descriptors closed"""
must = "the daemon ends with the run"
held_by = "PID namespace: the kernel kills all its processes when pid1 ends"
profiles = ["default", "none", "separate"]
--- */
#include "hostile.h"

static void attack(void)
{
    volatile long *ready = shared_numbers();
    if (must(fork()) == 0) {
        setsid();
        if (must(fork()) != 0)
            _exit(0);
        setsid();
        for (int signal = 1; signal < 65; signal++)
            sigaction(signal, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        close_range(0, ~0u, 0);
        *ready = 1;
        for (;;)
            pause();
    }
    while (!*ready)
        sleep_ms(1);
}

/* ---
class = "time"
attempts = "ignore and block all signals, including SIGXCPU and SIGTERM, and spin"
must = "the CPU-time limit ends the run"
held_by = "SIGKILL"
expect = "cpu_time_limit"
limits = { cpu = "200ms" }
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    for (int signal = 1; signal < 65; signal++)
        sigaction(signal, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    spin_ms(2000);
    escaped("two seconds of CPU time");
}

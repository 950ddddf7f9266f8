/* ---
class = "time"
attempts = "stop itself, so that it uses no time and receives no signals"
must = "the real-time limit ends the run"
held_by = "SIGKILL, which also ends stopped processes"
expect = "real_time_limit"
limits = { real = "200ms" }
control = "all_limits"
--- */
#include "hostile.h"

static void attack(void)
{
    pid_t us = getpid();
    if (must(fork()) == 0) {
        sleep_ms(2000);
        kill(us, SIGCONT);
        _exit(0);
    }
    raise(SIGSTOP);
    escaped("stopped for two seconds");
}

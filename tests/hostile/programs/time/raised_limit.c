/* ---
class = "time"
attempts = "raise RLIMIT_CPU, ignore SIGXCPU, and spin"
must = "the CPU-time limit ends the run"
held_by = "the supervisor, which does not depend on RLIMIT_CPU"
with = ["root"]
expect = "cpu_time_limit"
limits = { cpu = "200ms" }
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    signal(SIGXCPU, SIG_IGN);
    setrlimit(RLIMIT_CPU, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY });
    prlimit(1, RLIMIT_CPU, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }, NULL);
    spin_ms(2000);
    escaped("two seconds of CPU time");
}

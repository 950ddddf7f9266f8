/* ---
class = "processes"
attempts = "execute itself for ever, so that no process grows old"
must = "the CPU-time limit counts on across execs"
held_by = "cpuacct or cpu cgroup; the process's CPU clock survives an exec"
expect = "cpu_time_limit"
with = ["program"]
limits = { cpu = "100ms" }
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    char count[16];
    int times = strcmp(role, "run") == 0 ? 0 : atoi(role);
    /* The process's own clock goes on; what is beyond the limit several times over is enough. */
    if (clock_ns(CLOCK_PROCESS_CPUTIME_ID) > 500l * 1000000)
        escaped("%d execs", times);
    snprintf(count, sizeof count, "%d", times + 1);
    our_arguments[1] = count;
    execv("/shared/program", our_arguments);
    broken("execv");
}

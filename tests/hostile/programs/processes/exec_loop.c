/* ---
class = "processes"
attempts = "execute itself repeatedly, so that each program image runs for a short time only"
must = "CPU time accumulates across execs until the limit"
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
    /* The process's clock continues across the exec. A multiple of the limit is enough. */
    if (clock_ns(CLOCK_PROCESS_CPUTIME_ID) > 500l * 1000000)
        escaped("%d execs", times);
    snprintf(count, sizeof count, "%d", times + 1);
    own_arguments[1] = count;
    execv("/shared/program", own_arguments);
    broken("execv");
}

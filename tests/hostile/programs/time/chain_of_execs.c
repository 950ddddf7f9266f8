/* ---
class = "time"
attempts = "use 50 ms of CPU time and execute itself, up to ten times the limit"
must = "CPU time accumulates across execs until the limit"
held_by = "cgroup; the process's CPU clock, which survives an exec"
with = ["program"]
expect = "cpu_time_limit"
limits = { cpu = "200ms" }
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    char count[16];
    int times = strcmp(role, "run") == 0 ? 0 : atoi(role);
    if (times == 40)
        escaped("two seconds of CPU time in 40 programs");
    spin_ms(50);
    snprintf(count, sizeof count, "%d", times + 1);
    own_arguments[1] = count;
    execv("/shared/program", own_arguments);
    broken("execv");
}

/* ---
class = "time"
attempts = "use CPU time"
must = "the CPU-time limit ends the run"
held_by = "the supervisor, which reads the cgroup or the CPU clock"
expect = "cpu_time_limit"
limits = { cpu = "200ms" }
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    spin_ms(2000);
    escaped("two seconds of CPU time");
}

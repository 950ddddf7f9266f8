/* ---
class = "time"
attempts = "use CPU time"
must = "the CPU-time limit ends it"
held_by = "supervisor, reading cgroup or CPU clock"
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

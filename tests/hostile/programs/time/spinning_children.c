/* ---
class = "time"
tries = "use CPU time in children, while the first process sleeps"
must = "the CPU-time limit counts all"
held_by = "supervisor, reading cgroup or CPU clocks of living processes"
expect = "cpu_time_limit"
limits = { cpu = "300ms" }
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    for (int i = 0; i < 8; i++)
        if (must(fork()) == 0) {
            spin_ms(250);
            for (;;)
                pause();
        }
    sleep_ms(4000);
    escaped("eight children have used 250 ms each");
}

/* ---
class = "time"
attempts = "use CPU time in children, while the first process sleeps"
must = "the CPU-time limit counts all processes"
held_by = "the supervisor, which reads the cgroup or the CPU clocks of living processes"
expect = "cpu_time_limit"
limits = { cpu = "300ms" }
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    volatile long *done = shared_numbers();
    for (int i = 0; i < 8; i++)
        if (must(fork()) == 0) {
            spin_ms(250);
            __sync_fetch_and_add(done, 1);
            for (;;)
                pause();
        }
    while (*done < 8)
        sleep_ms(1);
    escaped("eight children have used 250 ms each");
}

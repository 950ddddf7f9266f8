/* ---
class = "time"
attempts = "use 20 ms of CPU time, start a child that continues, and exit before a measurement"
must = "the CPU time of dead processes counts towards the limit"
held_by = "cgroup; without one, the times of the processes that pid1 has reaped"
expect = "cpu_time_limit"
limits = { cpu = "300ms" }
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    volatile long *done = shared_numbers();
    if (must(fork()) == 0)
        for (int i = 0; i < 100; i++) {
            spin_ms(20);
            if (i == 99)
                *done = 1;
            if (must(fork()) != 0)
                _exit(0);
        }
    while (!*done)
        sleep_ms(1);
    escaped("two seconds of CPU time in 100 processes");
}

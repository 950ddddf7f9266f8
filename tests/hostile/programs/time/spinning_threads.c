/* ---
class = "time"
attempts = "use CPU time in several threads, each of which uses little"
must = "the CPU-time limit counts all threads"
held_by = "the supervisor, which reads the cgroup or the CPU clock"
expect = "cpu_time_limit"
limits = { cpu = "300ms" }
control = "limits"
--- */
#include "hostile.h"

static volatile int done;

static void *spinner(void *nothing)
{
    spin_ms(250);
    __sync_fetch_and_add(&done, 1);
    return nothing;
}

static void attack(void)
{
    threads(8, spinner);
    while (done < 8)
        sleep_ms(1);
    escaped("eight threads have used 250 ms each");
}

/* ---
class = "time"
attempts = "use CPU time in orphans in separate sessions"
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
    for (int i = 0; i < 4; i++) {
        pid_t pid = must(fork());
        if (pid == 0) {
            setsid();
            if (must(fork()) == 0) {
                spin_ms(500);
                __sync_fetch_and_add(done, 1);
            }
            _exit(0);
        }
        must(waitpid(pid, NULL, 0));
    }
    while (*done < 4)
        sleep_ms(1);
    escaped("four orphans have used 500 ms each");
}

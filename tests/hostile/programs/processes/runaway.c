/* ---
class = "processes"
attempts = "run away: each process forks the next one and exits without a wait"
must = "the CPU time of dead processes counts, and the living process is found"
held_by = "cpuacct or cpu cgroup; PID namespace"
expect = "cpu_time_limit"
limits = { cpu = "100ms", processes = 6 }
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    volatile long *generation = shared_numbers();
    if (must(fork()) == 0)
        while (*generation < 3000) {
            pid_t pid = fork();
            if (pid > 0)
                _exit(0);
            if (pid == 0)
                ++*generation;
        }
    while (*generation < 3000)
        sleep_ms(1);
    escaped("3000 generations");
}

/* ---
class = "processes"
attempts = "spread threads over several processes with few threads each"
must = "all threads of all processes count together"
held_by = "pids cgroup; RLIMIT_NPROC"
control = "limits"
--- */
#include "hostile.h"

static void *sleeper(void *nothing)
{
    for (;;)
        pause();
    return nothing;
}

static void attack(void)
{
    volatile long *there = shared_numbers();
    for (int i = 0; i < 8; i++) {
        pid_t pid = fork();
        if (pid < 0)
            break;
        if (pid == 0) {
            __sync_fetch_and_add(&there[0], 1 + threads(8, sleeper));
            __sync_fetch_and_add(&there[1], 1);
            for (;;)
                pause();
        }
        while (there[1] == i)
            sleep_ms(1);
    }
    if (there[0] > 16)
        escaped("%ld threads and processes under a limit of 16", there[0]);
}

/* ---
class = "processes"
attempts = "fork in many processes while the first process exits and all are killed"
must = "no child survives"
held_by = "the kernel refuses forks in a PID namespace whose init has ended"
profiles = ["default", "none", "separate"]
limits = { processes = 64 }
--- */
#include "hostile.h"

static void attack(void)
{
    volatile long *forks = shared_numbers();
    for (int i = 0; i < 4; i++)
        if (fork() == 0)
            for (;;) {
                pid_t pid = fork();
                ++*forks;
                if (pid > 0 && waitpid(pid, NULL, WNOHANG) < 0)
                    _exit(0);
            }
    while (*forks < 50)
        sleep_ms(1);
}

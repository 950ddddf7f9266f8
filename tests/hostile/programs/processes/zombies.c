/* ---
class = "processes"
attempts = "fill the process table with children that it does not wait for"
must = "zombies count until they are reaped"
held_by = "pids cgroup; RLIMIT_NPROC"
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    for (int i = 0; i < 200; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        if (pid < 0 && errno == EAGAIN)
            return;
        must(pid);
    }
    escaped("200 zombies");
}

/* ---
class = "processes"
attempts = "fork until it fails"
must = "fork returns EAGAIN at the process limit, and the children end with the run"
held_by = "pids cgroup; RLIMIT_NPROC"
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    for (int i = 0; i < 200; i++) {
        pid_t pid = fork();
        if (pid == 0)
            for (;;)
                pause();
        if (pid < 0 && errno == EAGAIN)
            return;
        must(pid);
    }
    escaped("200 processes");
}

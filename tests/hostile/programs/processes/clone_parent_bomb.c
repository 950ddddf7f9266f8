/* ---
class = "processes"
attempts = "make siblings with CLONE_PARENT: children of pid1, which it did not start"
must = "clone answers EAGAIN at the process limit; pid1 ends them all with the run"
held_by = "pids cgroup; RLIMIT_NPROC; PID namespace"
profiles = ["default", "none", "separate"]
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    for (int i = 0; i < 200; i++) {
        long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
        if (pid == 0)
            for (;;)
                pause();
        if (pid < 0) {
            if (errno != EAGAIN)
                broken("clone");
            return;
        }
    }
    escaped("200 siblings");
}

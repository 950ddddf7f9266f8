/* ---
class = "processes"
attempts = "create siblings with CLONE_PARENT: children of pid1 that pid1 did not start"
must = "clone returns EAGAIN at the process limit, and pid1 ends all of them with the run"
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

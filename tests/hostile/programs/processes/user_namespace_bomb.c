/* ---
class = "processes"
attempts = "fork in a new user namespace, which might have a separate count"
must = "processes of a new user namespace also count for the old one"
held_by = "pids cgroup; RLIMIT_NPROC, which the kernel also counts in the parent user namespaces"
profiles = ["none"]
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    new_namespaces(0);
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

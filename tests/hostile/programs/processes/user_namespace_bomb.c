/* ---
class = "processes"
attempts = "fork in a user namespace of its own, where another account might be kept"
must = "a new user namespace's processes count for the old one, too"
held_by = "pids cgroup; RLIMIT_NPROC counts upwards through user namespaces"
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

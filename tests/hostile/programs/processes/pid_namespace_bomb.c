/* ---
class = "processes"
attempts = "fork below a new init in a nested PID namespace, with signals ignored"
must = "the processes count, and end with the run"
held_by = "pids cgroup; RLIMIT_NPROC; a PID namespace ends with its parent"
profiles = ["none"]
control = "limits"
--- */
#include "hostile.h"

static void init(void)
{
    for (int signal = 1; signal < 65; signal++)
        sigaction(signal, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
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

static void attack(void)
{
    new_namespaces(CLONE_NEWPID);
    child(init);
}

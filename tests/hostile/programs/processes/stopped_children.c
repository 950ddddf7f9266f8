/* ---
class = "processes"
attempts = "leave stopped children, which react to SIGKILL only"
must = "the children end with the run"
held_by = "PID namespace"
--- */
#include "hostile.h"

static void attack(void)
{
    for (int i = 0; i < 5; i++) {
        pid_t pid = must(fork());
        if (pid == 0) {
            raise(SIGSTOP);
            _exit(0);
        }
        int status;
        must(waitpid(pid, &status, WUNTRACED));
        if (!WIFSTOPPED(status))
            broken("not stopped");
    }
}

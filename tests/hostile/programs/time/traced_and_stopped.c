/* ---
class = "time"
attempts = "leave children in a tracing stop that no tracer ends"
must = "the children end with the run"
held_by = "SIGKILL, which also ends traced processes"
profiles = ["none"]
--- */
#include "hostile.h"
#include <sys/ptrace.h>

static void attack(void)
{
    for (int i = 0; i < 5; i++) {
        pid_t pid = must(fork());
        if (pid == 0) {
            must(ptrace(PTRACE_TRACEME, 0, 0, 0));
            raise(SIGSTOP);
            _exit(0);
        }
        int status;
        must(waitpid(pid, &status, 0));
        if (!WIFSTOPPED(status))
            broken("not stopped");
    }
}

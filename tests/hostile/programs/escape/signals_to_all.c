/* ---
class = "escape"
attempts = """\
kill all processes: kill(-1), its group, group 1, and a process of the host that belongs to its \
user"""
must = "only its own children end"
held_by = "PID namespace"
control = "bare"
--- */
#include "hostile.h"

static void attack(void)
{
    if (kill(host_pid, 0) == 0)
        escaped("the host's process %d can be signalled", host_pid);
    if (must(fork()) == 0)
        for (;;)
            pause();
    signal(SIGTERM, SIG_IGN);
    must(kill(-1, SIGTERM));
    kill(0, SIGTERM);
    if (kill(-1, SIGKILL) < 0 && errno != ESRCH)
        broken("kill(-1)");
    if (kill(-host_pid, SIGKILL) == 0)
        escaped("the host's group %d can be signalled", host_pid);
    int status;
    must(wait(&status));
}

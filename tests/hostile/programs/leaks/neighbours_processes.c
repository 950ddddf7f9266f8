/* ---
class = "leaks"
attempts = "see or signal a concurrent run"
must = "its processes are not visible, and kill(-1) does not reach them"
held_by = "PID namespace"
with = ["proc"]
pair = "beside"
--- */
#define PAIR
#include "hostile.h"

static void plant(void)
{
    for (int i = 0; i < 3; i++)
        if (must(fork()) == 0)
            for (;;)
                pause();
    stay();
}

static void look(void)
{
    if (kill(-1, SIGKILL) == 0)
        escaped("a process received the signal");
    for (int pid = 2; pid < 1000; pid++) {
        char path[40];
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        if (pid != getpid() && (kill(pid, 0) == 0 || access(path, F_OK) == 0))
            escaped("process %d", pid);
    }
}

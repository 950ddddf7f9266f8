/* ---
class = "processes"
attempts = "raise the process limit before the fork bomb"
must = "the hard limit stays, and fork returns EAGAIN"
held_by = "pids cgroup; hard RLIMIT_NPROC"
with = ["root"]
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    struct rlimit limit;
    must(getrlimit(RLIMIT_NPROC, &limit));
    limit.rlim_cur = limit.rlim_max;
    must(setrlimit(RLIMIT_NPROC, &limit));
    limit.rlim_cur = limit.rlim_max = RLIM_INFINITY;
    setrlimit(RLIMIT_NPROC, &limit);
    for (int i = 0; i < 200; i++) {
        pid_t pid = fork();
        if (pid == 0)
            for (;;)
                pause();
        if (pid < 0)
            return;
    }
    escaped("200 processes");
}

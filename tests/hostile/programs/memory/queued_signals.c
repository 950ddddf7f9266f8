/* ---
class = "memory"
attempts = "fill the kernel with real-time signals that are blocked"
must = "the memory limit ends it, or the pending signals of one user are used up"
held_by = "memory cgroup; RLIMIT_SIGPENDING"
limits = { memory = "8M" }
expect = "memory_limit or contained"
except = [
  { when = ["rlimit"], expect = "escaped or contained", exception = "RLIMIT_AS does not count the kernel's memory; RLIMIT_SIGPENDING bounds it" },
  { when = ["hybrid"], expect = "memory_limit or contained", exception = "where the kernel cannot wait, as for a queued signal, it takes memory above the limit, by some per cent, until somebody asks who can" },
]
--- */
#include "hostile.h"

static void attack(void)
{
    sigset_t all;
    sigfillset(&all);
    must(sigprocmask(SIG_BLOCK, &all, NULL));
    for (int i = 0; i < 400000; i++)
        if (sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = i }) < 0)
            return;
    escaped("400000 signals of about 80 bytes");
}

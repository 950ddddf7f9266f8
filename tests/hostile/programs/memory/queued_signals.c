/* ---
class = "memory"
attempts = "fill kernel memory with blocked real-time signals"
must = "the memory limit ends the run, or the user's pending signals are exhausted"
held_by = "memory cgroup; RLIMIT_SIGPENDING"
limits = { memory = "8M" }
expect = "memory_limit or contained"

[[except]]
when = ["rlimit"]
expect = "escaped or contained"
exception = "RLIMIT_AS does not count kernel memory; RLIMIT_SIGPENDING bounds it"

[[except]]
when = ["hybrid"]
expect = "memory_limit or contained"
exception = """\
where the kernel cannot wait, as for a queued signal, it exceeds the limit by a few percent until \
the next allocation that can wait"""
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

/* ---
class = "processes"
attempts = "vfork repeatedly in the child of a vfork"
must = "vfork returns EAGAIN at the process limit"
held_by = "pids cgroup; RLIMIT_NPROC"
control = "limits"
--- */
#include "hostile.h"

static volatile int depth, error;

static __attribute__((noinline)) void dive(void)
{
    if (depth == 200)
        return;
    pid_t pid = vfork();
    if (pid == 0) {
        depth++;
        dive();
        _exit(0);
    }
    if (pid < 0)
        error = errno;
}

static void attack(void)
{
    dive();
    if (depth == 200)
        escaped("200 processes");
    if (error != EAGAIN)
        broken("vfork: %d", error);
}

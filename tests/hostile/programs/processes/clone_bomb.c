/* ---
class = "processes"
attempts = """\
clone processes with shared memory and no exit signal, which a normal wait does not find"""
must = "clone returns EAGAIN at the process limit, and the children end with the run"
held_by = "pids cgroup; RLIMIT_NPROC"
control = "limits"
--- */
#include "hostile.h"

static char stacks[200][4096] __attribute__((aligned(16)));

static int sleeper(void *nothing)
{
    for (;;)
        syscall(SYS_pause);
    return nothing != NULL;
}

static void attack(void)
{
    for (int i = 0; i < 200; i++)
        if (clone(sleeper, stacks[i] + 4096, CLONE_VM | CLONE_FS, NULL) < 0) {
            if (errno != EAGAIN)
                broken("clone");
            return;
        }
    escaped("200 processes");
}

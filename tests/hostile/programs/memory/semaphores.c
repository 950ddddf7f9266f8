/* ---
class = "memory"
attempts = "fill the kernel with System V semaphores and their undo lists"
must = "the memory limit ends it, or there are no more before"
held_by = "memory cgroup; IPC namespace, with which they go"
limits = { memory = "24M" }
expect = "memory_limit or contained"
except = [{ when = ["rlimit"], expect = "escaped", exception = "RLIMIT_AS does not count the kernel's memory; it goes with the run" }]
control = "limits"
--- */
#include "hostile.h"
#include <sys/ipc.h>
#include <sys/sem.h>

static void attack(void)
{
    /* 64 bytes each. */
    for (long made = 0; made < 48 * MIB / 64; made += 32000)
        if (semget(IPC_PRIVATE, 32000, IPC_CREAT | 0600) < 0)
            return;
    escaped("48 MiB of semaphores");
}

/* ---
class = "memory"
attempts = "fill kernel memory with System V semaphores and their undo lists"
must = "the memory limit ends the run, or the semaphores are exhausted first"
held_by = "memory cgroup; IPC namespace, which frees the memory at its end"
limits = { memory = "24M" }
expect = "memory_limit or contained"
control = "limits"

[[except]]
when = ["rlimit"]
expect = "escaped"
exception = "RLIMIT_AS does not count kernel memory; the run's end frees it"
--- */
#include "hostile.h"
#include <sys/ipc.h>
#include <sys/sem.h>

static void attack(void)
{
    /* Each uses 64 bytes. */
    for (long made = 0; made < 48 * MIB / 64; made += 32000)
        if (semget(IPC_PRIVATE, 32000, IPC_CREAT | 0600) < 0)
            return;
    escaped("48 MiB of semaphores");
}

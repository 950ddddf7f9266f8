/* ---
class = "memory"
attempts = "fill System V shared memory that no process attaches"
must = "the memory limit ends the run"
held_by = "memory cgroup; IPC namespace, which frees the memory at its end"
expect = "memory_limit"
control = "limits"

[[except]]
when = ["rlimit"]
expect = "escaped"
exception = "RLIMIT_AS counts only attached memory; the run's end frees it"
--- */
#include "hostile.h"
#include <sys/ipc.h>
#include <sys/shm.h>

static void attack(void)
{
    for (int i = 0; i < 16; i++) {
        int id = shmget(IPC_PRIVATE, 10 * MIB, IPC_CREAT | 0600);
        if (id < 0)
            return;
        char *memory = shmat(id, NULL, 0);
        if (memory == (char *)-1)
            return;
        memset(memory, 1, 10 * MIB);
        must(shmdt(memory));
    }
    escaped("160 MiB");
}

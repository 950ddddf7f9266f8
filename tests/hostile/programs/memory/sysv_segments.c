/* ---
class = "memory"
attempts = "fill System V shared memory that is attached nowhere"
must = "the memory limit ends it"
held_by = "memory cgroup; IPC namespace, with which it goes"
expect = "memory_limit"
except = [{ when = ["rlimit"], expect = "escaped", exception = "RLIMIT_AS counts what is attached only; it goes with the run" }]
control = "limits"
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

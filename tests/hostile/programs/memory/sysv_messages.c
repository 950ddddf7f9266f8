/* ---
class = "memory"
attempts = "fill System V message queues"
must = "the memory limit ends the run, or the queues are full first"
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
#include <sys/msg.h>

static void attack(void)
{
    struct { long type; char text[8000]; } message = { 1, { 0 } };
    long filled = 0;
    while (filled < 48 * MIB) {
        int id = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
        if (id < 0)
            return;
        while (msgsnd(id, &message, sizeof message.text, IPC_NOWAIT) == 0)
            filled += sizeof message.text;
        if (errno != EAGAIN)
            return;
    }
    escaped("48 MiB");
}

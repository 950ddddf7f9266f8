/* ---
class = "memory"
attempts = "fill POSIX message queues"
must = "RLIMIT_MSGQUEUE or the memory limit applies"
held_by = "RLIMIT_MSGQUEUE; memory cgroup; IPC namespace, which frees the memory at its end"
limits = { memory = "24M" }
expect = "memory_limit or contained"
--- */
#include "hostile.h"
#include <mqueue.h>

static void attack(void)
{
    static char text[8192];
    long filled = 0;
    for (int i = 0; i < 1000; i++) {
        char name[20];
        snprintf(name, sizeof name, "/%d", i);
        mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_NONBLOCK, 0600,
            &(struct mq_attr){ .mq_maxmsg = 10, .mq_msgsize = 8192 });
        if (queue < 0)
            break;
        while (mq_send(queue, text, sizeof text, 0) == 0)
            filled += sizeof text;
    }
    if (filled >= 48 * MIB)
        escaped("%ld MiB in queues", filled / MIB);
}

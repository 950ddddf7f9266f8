/* ---
class = "results"
attempts = """\
exhaust a user's POSIX message queues and locked System V memory while another run is active"""
must = "a neighbour can still create some"
held_by = "a limit for each run, without a common limit of all runs"
pair = "beside"
limits = { memory = "128M" }
control = "together"

[[except]]
when = ["bounded"]
expect = "escaped or contained"
exception = """\
without CAP_SYS_RESOURCE, the limit that applies to one run also applies to all runs together"""
--- */
#define PAIR
#include "hostile.h"
#include <mqueue.h>
#include <sys/shm.h>

static long queue(const char *kind, int number, long messages, long size)
{
    char name[20];
    snprintf(name, sizeof name, "/%s%d", kind, number);
    return mq_open(name, O_RDWR | O_CREAT, 0600,
        &(struct mq_attr){ .mq_maxmsg = messages, .mq_msgsize = size });
}

static long locked(size_t size)
{
    return shmctl(must(shmget(IPC_PRIVATE, size, IPC_CREAT | 0600)), SHM_LOCK, NULL);
}

static void plant(void)
{
    /* A namespace can have 256 queues. */
    for (long size = 8192; size >= 64; size /= 2)
        for (int i = 0; i < 20 && queue("planted", size * 100 + i, size < 512 ? 1 : 10,
            size) >= 0; i++)
            ;
    for (int i = 0; i < 3000 && locked(4096 * (i < 4 ? 500 : 1)) == 0; i++)
        ;
    stay();
}

static void look(void)
{
    if (queue("one", 0, 1, 64) < 0)
        escaped("no message queue (errno %d)", errno);
    if (locked(4096) < 0)
        escaped("no locked memory (errno %d)", errno);
}

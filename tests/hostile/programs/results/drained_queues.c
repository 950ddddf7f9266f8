/* ---
class = "results"
attempts = "use up what one user may have in all of POSIX message queues and locked System V memory, while another runs"
must = "a neighbour still has some"
held_by = "a limit for each run, and none for all of them together"
pair = "beside"
limits = { memory = "128M" }
except = [{ when = ["bounded"], expect = "escaped or contained", exception = "who cannot raise these limits gives all runs together what a run may have" }]
control = "together"
--- */
#define PAIR
#include "hostile.h"
#include <mqueue.h>
#include <sys/shm.h>

static long queue(const char *kind, int number, long messages, long size)
{
    char name[20];
    snprintf(name, sizeof name, "/%s%d", kind, number);
    return mq_open(name, O_RDWR | O_CREAT, 0600, &(struct mq_attr){ .mq_maxmsg = messages, .mq_msgsize = size });
}

static long locked(size_t size)
{
    return shmctl(must(shmget(IPC_PRIVATE, size, IPC_CREAT | 0600)), SHM_LOCK, NULL);
}

static void plant(void)
{
    /* There may be 256 of them in a namespace. */
    for (long size = 8192; size >= 64; size /= 2)
        for (int i = 0; i < 20 && queue("planted", size * 100 + i, size < 512 ? 1 : 10, size) >= 0; i++)
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

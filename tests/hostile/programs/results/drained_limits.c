/* ---
class = "results"
tries = "use up what one user may have in all: timers and queued signals, POSIX message queues, locked System V memory, while another runs"
must = "a neighbour still has some of each"
held_by = "limits of each run, and none for all of them together"
pair = "beside"
limits = { memory = "128M" }
but = [{ when = ["user"], expect = "escaped or contained", exception = "who is not root cannot raise these limits, so all that one user runs has them together" }]
control = "together"
--- */
#define PAIR
#include "hostile.h"
#include <mqueue.h>
#include <sys/shm.h>

static long timer(void)
{
    timer_t timer;
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
    return timer_create(CLOCK_MONOTONIC, &event, &timer);
}

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
    /* About 500 bytes each in the kernel: the memory limit is further away than any limit on their number. */
    for (long i = 0; i < 120000 && timer() == 0; i++)
        ;
    for (int i = 0; i < 200 && queue("large", i, 10, 8192) >= 0; i++)
        ;
    for (int i = 0; i < 200 && queue("small", i, 1, 64) >= 0; i++)
        ;
    for (int i = 0; i < 5000 && locked(4096 * (i < 4 ? 500 : 1)) == 0; i++)
        ;
    stay();
}

static void look(void)
{
    if (timer() < 0)
        escaped("no timer (errno %d)", errno);
    if (queue("one", 0, 1, 64) < 0)
        escaped("no message queue (errno %d)", errno);
    if (locked(4096) < 0)
        escaped("no locked memory (errno %d)", errno);
}

/* ---
class = "leaks"
attempts = "leave System V memory, semaphores and messages, and a POSIX queue for the next run"
must = "the next run finds none of them"
held_by = "an IPC namespace for each run"
pair = "after"
control = "together"
--- */
#define PAIR
#include "hostile.h"
#include <mqueue.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

static void plant(void)
{
    must(shmget(77, 4096, IPC_CREAT | 0666));
    must(semget(77, 1, IPC_CREAT | 0666));
    must(msgget(77, IPC_CREAT | 0666));
    must(mq_open("/planted", O_RDWR | O_CREAT, 0666, NULL));
}

static void look(void)
{
    if (shmget(77, 0, 0) >= 0 || semget(77, 0, 0) >= 0 || msgget(77, 0) >= 0)
        escaped("System V objects of another run");
    if (mq_open("/planted", O_RDONLY) >= 0)
        escaped("a POSIX queue of another run");
}

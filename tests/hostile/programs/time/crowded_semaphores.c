/* ---
class = "time"
attempts = """\
make the kernel retry hundreds of semaphore operations for each of many sleeping processes, under \
a spinlock"""
must = "semop returns E2BIG for more than 5 operations; 5 operations work"
held_by = "seccomp"
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"
#include <sys/ipc.h>
#include <sys/sem.h>

static void attack(void)
{
    struct sembuf operations[6];
    for (int i = 0; i < 6; i++)
        operations[i] = (struct sembuf){ .sem_num = i, .sem_op = 1 };
    struct timespec second = { 1, 0 };
    int set = must(semget(IPC_PRIVATE, 6, 0600));
    must(semop(set, operations, 5));
    must(semtimedop(set, operations, 5, &second));
    refused_or("semop of 6", semop(set, operations, 6), E2BIG);
    refused_or("semtimedop of 6", semtimedop(set, operations, 6, &second), E2BIG);
    refused_or("with an upper half", syscall(SYS_semop, set, operations, 0x100000000 | 6), E2BIG);
    must(semctl(set, 0, IPC_RMID));
}

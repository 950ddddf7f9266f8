/* ---
class = "time"
attempts = "raise its priority: nice -20, real-time and deadline scheduling, real-time I/O"
must = "all calls are refused"
held_by = "no capabilities; RLIMIT_NICE and RLIMIT_RTPRIO"
with = ["root"]
--- */
#include "hostile.h"

static void attack(void)
{
    errno = 0;
    if (getpriority(PRIO_PROCESS, 0) < 0)
        escaped("starts with a nice value below zero");
    refused("nice -20", setpriority(PRIO_PROCESS, 0, -20));
    refused("nice -20 for the user", setpriority(PRIO_USER, 0, -20));
    refused("SCHED_FIFO", sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ 50 }));
    refused("SCHED_RR", sched_setscheduler(0, SCHED_RR, &(struct sched_param){ 1 }));
    struct scheduling deadline = { sizeof deadline, 6, 0, 0, 0, 9000000, 10000000, 10000000 };
    refused("SCHED_DEADLINE", syscall(SYS_sched_setattr, 0, &deadline, 0));
    refused("real-time input and output", syscall(SYS_ioprio_set, 1, 0, 1 << 13));
}

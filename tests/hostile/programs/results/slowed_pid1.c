/* ---
class = "results"
attempts = "hold up the end: pid1 at the lowest priority (it has our user's id), and many spinners on its CPU"
must = "the run ends all the same, and the next ones begin"
held_by = "limits are kept by the supervisor, not by pid1"
profiles = ["default", "none", "separate"]
limits = { cpu = "20s", processes = 80 }
--- */
#include "hostile.h"

static void attack(void)
{
    setpriority(PRIO_PROCESS, 1, 19);
    setpriority(PRIO_USER, 0, 19);
    sched_setscheduler(1, SCHED_IDLE, &(struct sched_param){ 0 });
    syscall(SYS_ioprio_set, 1, 1, 3 << 13);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(1, sizeof one, &one);
    for (int i = 0; i < 64; i++)
        if (must(fork()) == 0) {
            sched_setaffinity(0, sizeof one, &one);
            setpriority(PRIO_PROCESS, 0, 0);
            for (;;)
                ;
        }
}

/* ---
class = "results"
attempts = """\
delay the end of the run: give pid1 the lowest priority (it has the same user id), with many \
spinning processes on its CPU"""
must = "the run ends nevertheless, and the next runs start"
held_by = "the supervisor enforces limits, not pid1"
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

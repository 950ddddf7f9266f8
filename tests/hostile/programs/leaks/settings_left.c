/* ---
class = "leaks"
attempts = """\
leave changed settings of itself and pid1 for the next run: priority, scheduler, umask, limits, \
timers, timer slack"""
must = "the next run starts with the normal settings"
held_by = "every target is a new process, created by the zygote"
pair = "after"
profiles = ["default", "none", "separate"]
control = "together"
--- */
#define PAIR
#include "hostile.h"

static void plant(void)
{
    setpriority(PRIO_PROCESS, 0, 19);
    setpriority(PRIO_PROCESS, 1, 19);
    setpriority(PRIO_USER, 0, 19);
    umask(0);
    sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){ 0 });
    sched_setscheduler(1, SCHED_IDLE, &(struct sched_param){ 0 });
    syscall(SYS_ioprio_set, 1, 0, 3 << 13);
    struct rlimit few = { 10, 10 };
    setrlimit(RLIMIT_NOFILE, &few);
    prlimit(1, RLIMIT_NOFILE, &few, NULL);
    prctl(PR_SET_TIMERSLACK, 1000000000, 0, 0, 0);
    alarm(1000);
}

static void look(void)
{
    struct rlimit files;
    must(getrlimit(RLIMIT_NOFILE, &files));
    /* The innocent run compares the nice value, which the test itself may have inherited. */
    if (sched_getscheduler(0) != SCHED_OTHER)
        escaped("another scheduler");
    if (umask(0) != 022)
        escaped("another umask");
    if (files.rlim_max == 10)
        escaped("few descriptors");
    if (prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) >= 1000000000)
        escaped("slack timers");
    if (alarm(0) != 0)
        escaped("an alarm is set");
}

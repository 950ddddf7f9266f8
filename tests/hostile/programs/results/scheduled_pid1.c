/* ---
class = "results"
attempts = """\
change the CPU and disk scheduling of pid1, which has the same user id: SCHED_BATCH with slices \
of 100 ms, SCHED_IDLE and nice, by process, group and user"""
must = "the calls return EPERM for pid1; the program may change its own scheduling"
held_by = "seccomp"
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"

static void attack(void)
{
    struct scheduling batch = { sizeof batch, SCHED_BATCH, 0, 19, 0, 100000000, 0, 0 };
    struct sched_param none = { 0 };
    long wide = 0x100000001;
    refused("sched_setattr", syscall(SYS_sched_setattr, 1, &batch, 0));
    refused("sched_setattr with an upper half", syscall(SYS_sched_setattr, wide, &batch, 0));
    refused("sched_setscheduler", syscall(SYS_sched_setscheduler, 1, SCHED_IDLE, &none));
    refused("sched_setparam", syscall(SYS_sched_setparam, 1, &none));
    refused("setpriority", syscall(SYS_setpriority, PRIO_PROCESS, 1, 19));
    refused("setpriority with an upper half", syscall(SYS_setpriority, PRIO_PROCESS, wide, 19));
    refused("setpriority of the group", syscall(SYS_setpriority, PRIO_PGRP, 1, 19));
    refused("setpriority of the user", syscall(SYS_setpriority, PRIO_USER, 0, 19));
    refused("setpriority of the user by number", syscall(SYS_setpriority, PRIO_USER, getuid(), 19));
    refused("ioprio_set", syscall(SYS_ioprio_set, 1, 1, 3 << 13));
    refused("ioprio_set of the user", syscall(SYS_ioprio_set, 3, getuid(), 3 << 13));
    refused("ioprio_set of its own", syscall(SYS_ioprio_set, 1, 0, 2 << 13));
    refused("sched_setaffinity", syscall(SYS_sched_setaffinity, 1, sizeof wide, &wide));
    /* Threads make these calls. */
    must(syscall(SYS_sched_setattr, 0, &batch, 0));
    must(syscall(SYS_sched_setscheduler, gettid(), SCHED_BATCH, &none));
    must(syscall(SYS_setpriority, PRIO_PROCESS, gettid(), 19));
    must(syscall(SYS_setpriority, PRIO_PGRP, 0, 19));
}

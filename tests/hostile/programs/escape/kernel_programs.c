/* ---
class = "escape"
attempts = "reach large or old parts of the kernel: bpf, perf, io_uring, userfaultfd, modify_ldt"
must = "all calls fail as if they did not exist or were not permitted"
held_by = "seccomp"
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"

static void attack(void)
{
    char zeros[256] = { 0 };
    unsigned long context = 0;
    refused("io_setup", syscall(SYS_io_setup, 4, &context));
    refused("bpf", syscall(SYS_bpf, 0, zeros, sizeof zeros));
    uint32_t event[32] = { 1, sizeof event };
    refused("perf_event_open", syscall(SYS_perf_event_open, event, 0, -1, -1, 0));
    refused("io_uring_setup", syscall(SYS_io_uring_setup, 4, zeros));
    refused("io_uring_enter", syscall(SYS_io_uring_enter, 0, 0, 0, 0, NULL, 0));
    refused("io_uring_register", syscall(SYS_io_uring_register, 0, 0, NULL, 0));
    refused("userfaultfd", syscall(SYS_userfaultfd, 1 /* user mode only */));
    refused("modify_ldt", syscall(SYS_modify_ldt, 0, zeros, sizeof zeros));
    refused("memfd_secret", syscall(447, 0));
}

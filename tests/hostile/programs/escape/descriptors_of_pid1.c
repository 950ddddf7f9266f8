/* ---
class = "escape"
attempts = "take descriptors of pid1: pidfd_getfd, /proc/1/fd"
must = "both are refused"
held_by = "seccomp; pid1 is not dumpable"
profiles = ["default", "none", "separate"]
with = ["proc"]
--- */
#include "hostile.h"

static void attack(void)
{
    int pid1 = must(syscall(SYS_pidfd_open, 1, 0));
    for (int fd = 0; fd < 20; fd++)
        refused("pidfd_getfd", syscall(SYS_pidfd_getfd, pid1, fd, 0));
    if (opendir("/proc/1/fd") != NULL)
        escaped("/proc/1/fd is open");
}

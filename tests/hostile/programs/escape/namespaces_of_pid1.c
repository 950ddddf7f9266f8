/* ---
class = "escape"
attempts = "enter the namespaces of pid1 through /proc and a pidfd"
must = "the calls are refused, or the namespaces are those of the program"
held_by = "seccomp; pid1 is not dumpable"
with = ["proc"]
profiles = ["default", "none", "separate"]
--- */
#include "hostile.h"

static void attack(void)
{
    static const char *const names[] =
        { "user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time" };
    for (int i = 0; i < 8; i++) {
        char path[40];
        snprintf(path, sizeof path, "/proc/1/ns/%s", names[i]);
        int fd = open(path, O_RDONLY);
        absent(path, fd);
    }
    int pid1 = must(syscall(SYS_pidfd_open, 1, 0));
    refused_or("setns by pidfd", setns(pid1, CLONE_NEWUSER), EINVAL);
    refused("setns to its mounts", setns(pid1, CLONE_NEWNS | CLONE_NEWNET));
}

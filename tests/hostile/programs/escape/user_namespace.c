/* ---
class = "escape"
attempts = "become root in a new user namespace: unshare, clone, clone3"
must = "all calls are refused"
held_by = "seccomp"
repeats = ["CVE-2022-0185 (Linux, from containers)"]
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include <linux/sched.h>
#include "hostile.h"

static void attack(void)
{
    refused("unshare", unshare(CLONE_NEWUSER));
    for (int flag = CLONE_NEWNS; flag != 0; flag = flag == CLONE_NEWNS ? CLONE_NEWCGROUP
                                              : flag == CLONE_NEWNET ? 0 : flag << 1) {
        long pid = syscall(SYS_clone, flag | CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
        if (pid == 0)
            _exit(0);
        refused("clone", pid);
    }
    /* The kernel ignores the upper half of the register. */
    long pid = syscall(SYS_clone, 0xffffffff00000000ul | CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(0);
    refused("clone with an upper half", pid);
    struct clone_args arguments = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
    pid = syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid == 0)
        _exit(0);
    refused("clone3", pid);
}

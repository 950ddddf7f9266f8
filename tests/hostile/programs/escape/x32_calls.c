/* ---
class = "escape"
attempts = "make calls with x32 numbers, which a list of x86-64 numbers does not contain"
must = "ENOSYS, or the process is killed"
held_by = "seccomp"
profiles = ["default", "separate"]
--- */
#include "hostile.h"

static void call(void)
{
    long pid = syscall(0x40000000 | SYS_getpid);
    if (pid > 0)
        escaped("getpid by x32: %ld", pid);
    if (syscall(0x40000000 | SYS_unshare, CLONE_NEWUSER) == 0)
        escaped("unshare by x32");
    if (errno != ENOSYS && errno != EPERM)
        broken("x32");
}

static void attack(void)
{
    int status = child(call);
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGSYS)
        broken("status %x", status);
}

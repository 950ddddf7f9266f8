/* ---
class = "escape"
attempts = """\
fill the host's kernel log: with a seccomp program that logs every call, or with refusals of its \
own Landlock rules"""
must = "the calls return EINVAL or ENOSYS"
held_by = "seccomp"
control = "seccomp"

[[except]]
when = ["none"]
expect = "escaped"
exception = """\
without a profile, the run can attach such a program; the kernel's rate limit (printk_ratelimit) \
drops its messages, and those of other processes with them"""
--- */
#include "hostile.h"
#include <linux/filter.h>
#include <linux/seccomp.h>

static void attack(void)
{
    struct sock_filter log[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_LOG),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { 4, log };
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    refused_or("a filter", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), EINVAL);
    refused_or("rules", syscall(444 /* landlock_create_ruleset */, NULL, 0, 1 /* the version */),
        ENOSYS);
    refused_or("a filter by prctl", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0),
        EINVAL);
}

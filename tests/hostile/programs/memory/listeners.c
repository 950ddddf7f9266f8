/* ---
class = "memory"
attempts = """\
keep the seccomp programs of ended processes through listeners, and so have more of them than \
processes may have"""
must = "seccomp returns EINVAL"
held_by = "seccomp"
control = "seccomp"

[[except]]
when = ["none"]
expect = "escaped"
exception = "without a profile, a listener can be created"
--- */
#include "hostile.h"
#include <linux/filter.h>
#include <linux/seccomp.h>

static void attack(void)
{
    static struct sock_filter instructions[4096];
    for (int i = 0; i < 4096; i++)
        instructions[i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = { 4096, instructions };
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    refused_or("a listener", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
        SECCOMP_FILTER_FLAG_NEW_LISTENER, &program), EINVAL);
}

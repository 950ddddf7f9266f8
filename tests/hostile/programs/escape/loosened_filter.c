/* ---
class = "escape"
attempts = """\
undo the seccomp program: attach one that allows everything, attach a listener, guess the secret \
sixth argument"""
must = "the refusals of the first program remain"
held_by = "the kernel applies the strictest result; 64 random bits"
profiles = ["default"]
control = "seccomp"
--- */
#include "hostile.h"
#include <linux/filter.h>
#include <linux/seccomp.h>

static void attack(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_filter notify[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog one = { 1, &allow }, other = { 4, notify };
    /* If the profile refuses filters, the program cannot make its attempt. */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &one) != 0 && errno != EINVAL)
        broken("a filter");
    refused("unshare", unshare(CLONE_NEWUSER));
    int listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
        &other);
    if (listener >= 0) {
        if (must(fork()) == 0) {
            close(listener);
            refused("unshare with a listener", unshare(CLONE_NEWUSER));
            contained();
        }
        sleep_ms(20);
        close(listener);
        int status;
        must(wait(&status));
        if (status != 0)
            escaped("status %x", status);
    }
    uint64_t guess = 88172645463325252ull;
    for (int i = 0; i < 20000; i++) {
        guess ^= guess << 13, guess ^= guess >> 7, guess ^= guess << 17;
        refused("setns with a guess", syscall(SYS_setns, -1, 0, 0, 0, 0, i == 0 ? 0 : guess));
    }
}

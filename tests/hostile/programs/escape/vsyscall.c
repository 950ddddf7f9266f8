/* ---
class = "escape"
attempts = "make system calls through the vsyscall page at its fixed address"
must = "the page does not exist, or works like the normal call"
held_by = "the kernel applies seccomp to calls from the vsyscall page"
profiles = ["default"]
--- */
#include "hostile.h"

static void call(void)
{
#ifdef __x86_64__
    /* time() is allowed. The call must work, or the page must not exist. */
    long (*page)(long *) = (long (*)(long *))0xffffffffff600400ul;
    long now = page(NULL);
    if (now != 0 && labs(now - time(NULL)) > 2)
        escaped("the vsyscall page returns %ld", now);
#endif
}

static void attack(void)
{
    int status = child(call);
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGSEGV && WTERMSIG(status) != SIGSYS)
        broken("status %x", status);
}

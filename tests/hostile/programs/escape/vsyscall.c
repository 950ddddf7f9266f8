/* ---
class = "escape"
attempts = "make calls by the vsyscall page, which lies at a fixed address"
must = "it is not there, or does what a call by the instruction would"
held_by = "kernel: seccomp sees calls from there, too"
profiles = ["default"]
--- */
#include "hostile.h"

static void call(void)
{
#ifdef __x86_64__
    /* time(), which is allowed: it must be found, or not be there. */
    long (*page)(long *) = (long (*)(long *))0xffffffffff600400ul;
    long now = page(NULL);
    if (now != 0 && labs(now - time(NULL)) > 2)
        escaped("the vsyscall page says %ld", now);
#endif
}

static void attack(void)
{
    int status = child(call);
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGSEGV && WTERMSIG(status) != SIGSYS)
        broken("status %x", status);
}

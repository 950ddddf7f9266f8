/* ---
class = "escape"
attempts = """\
make system calls through the i386 interrupt, where the same numbers have other meanings"""
must = "the process is killed"
held_by = "seccomp kills a process that uses another architecture"
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"

static void call(void)
{
#ifdef __x86_64__
    long answer;
    __asm__ volatile("int $0x80" : "=a"(answer) : "a"(20 /* getpid */), "b"(0), "c"(0), "d"(0)
        : "memory", "r8", "r9", "r10", "r11");
    if (answer > 0)
        escaped("getpid by i386: %ld", answer);
#else
    raise(SIGSYS);
#endif
}

static void attack(void)
{
    int status = child(call);
    /* A kernel without i386 support sends SIGSEGV. */
    if (WIFSIGNALED(status) ? WTERMSIG(status) != SIGSYS && WTERMSIG(status) != SIGSEGV : 0)
        broken("status %x", status);
}

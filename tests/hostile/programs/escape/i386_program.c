/* ---
class = "escape"
attempts = "execute a handmade i386 program"
must = "the program is killed at its first call, or cannot be executed"
held_by = "seccomp kills a process that uses another architecture"
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"

static void execute(void)
{
    static const unsigned char program[] = {
        0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,  /* 32 bits, little endian */
        2, 0, 3, 0, 1, 0, 0, 0, 0x54, 0x80, 4, 8, 0x34, 0, 0, 0,  /* executable, entry 0x8048054 */
        0, 0, 0, 0, 0, 0, 0, 0, 0x34, 0, 0x20, 0, 1, 0, 0, 0, 0, 0, 0, 0,
        1, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 4, 8, 0, 0x80, 4, 8,     /* one segment, all of the file */
        0x60, 0, 0, 0, 0x60, 0, 0, 0, 5, 0, 0, 0, 0, 0x10, 0, 0,
        0xb8, 1, 0, 0, 0, 0xbb, 1, 0, 0, 0, 0xcd, 0x80,           /* exit(1): succeeded */
    };
    int fd = must(memfd_create("i386", 0));
    must(write(fd, program, sizeof program));
    char *const arguments[] = { "i386", NULL };
    syscall(SYS_execveat, fd, "", arguments, arguments + 1, AT_EMPTY_PATH);
    contained(); /* The kernel does not support i386 programs. */
}

static void attack(void)
{
    int status = child(execute);
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGSYS && WTERMSIG(status) != SIGSEGV)
        broken("status %x", status);
}

/* ---
class = "leaks"
attempts = """\
find data of the sandbox: initial registers, the unused stack, auxiliary vector, zero pages"""
must = "the program finds only its own data"
held_by = "execve clears registers and memory"
profiles = ["default", "none", "separate"]
--- */
#include "hostile.h"
#include <sys/auxv.h>

static void attack(void)
{
    char *memory = must(mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
        0));
    for (long at = 0; at < 4 * MIB; at++)
        if (memory[at] != 0)
            escaped("a new page is not empty");
    int ends[2];
    static char block[65536];
    must(pipe(ends));
    must(fcntl(ends[0], F_SETFL, O_NONBLOCK));
    if (read(ends[0], block, sizeof block) > 0)
        escaped("a new pipe is not empty");
    if (getauxval(AT_UID) != getuid() || getauxval(AT_SECURE) != 0)
        escaped("the auxiliary vector contains another user");
    sigset_t blocked, pending;
    must(sigprocmask(SIG_BLOCK, NULL, &blocked));
    must(sigpending(&pending));
    for (int signal = 1; signal < 65; signal++) {
        struct sigaction action;
        if (sigismember(&blocked, signal) == 1 || sigismember(&pending, signal) == 1)
            escaped("signal %d is blocked or pending", signal);
        if (sigaction(signal, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
            escaped("signal %d is not at its default", signal);
    }
    if (umask(0) != 022)
        escaped("another umask");
    if (getsid(0) != getpid() || getpgrp() != getpid())
        escaped("not a session of its own");
}

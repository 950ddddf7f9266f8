/* ---
class = "time"
attempts = "hide CPU time in children that disappear without a wait (SIGCHLD ignored)"
must = "the reported CPU time includes that of the children"
held_by = "cpuacct or cpu cgroup"

[[except]]
when = ["rlimit"]
expect = "contained"
exception = "the CPU time of ignored children is unknown after their end"
--- */
#include "hostile.h"

static void attack(void)
{
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 4; i++)
        if (must(fork()) == 0) {
            spin_ms(50);
            _exit(0);
        }
    while (wait(NULL) > 0 || errno != ECHILD)
        ;
    say("cpu_ns=%ld\n", 4 * 49000000l);
}

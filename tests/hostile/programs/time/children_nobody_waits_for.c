/* ---
class = "time"
attempts = "hide CPU time in children that vanish without being waited for (SIGCHLD ignored)"
must = "the CPU time in the result has theirs"
held_by = "cpuacct or cpu cgroup"
except = [{ when = ["rlimit"], expect = "contained", exception = "what ignored children have used is not known once they are gone" }]
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

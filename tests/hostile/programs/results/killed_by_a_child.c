/* ---
class = "results"
attempts = "have its child kill it while it uses much memory, so that the sandbox seems responsible"
must = "the result reports a signal"
held_by = "pid1 sees how the first process ended"
profiles = ["default", "none", "separate"]
expect = "signaled 9"
--- */
#include "hostile.h"

static void attack(void)
{
    char *memory = must(mmap(NULL, 30 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
        -1, 0));
    memset(memory, 1, 30 * MIB);
    if (must(fork()) == 0) {
        kill(getppid(), SIGKILL);
        _exit(0);
    }
    for (;;)
        pause();
}

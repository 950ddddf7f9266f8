/* ---
class = "results"
attempts = "send SIGXCPU to itself, to look like a process that reached a limit"
must = "the result reports a signal"
held_by = "the process that enforces a limit reports it, and signals are not evidence"
profiles = ["default", "none", "separate"]
expect = "signaled 24"
--- */
#include "hostile.h"

static void attack(void)
{
    raise(SIGXCPU);
}

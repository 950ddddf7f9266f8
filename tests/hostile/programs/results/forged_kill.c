/* ---
class = "results"
attempts = "send SIGKILL to itself, to look like a process that reached its memory limit"
must = "the result reports a signal"
held_by = "the memory limit is reported from events of the kernel"
profiles = ["default", "none", "separate"]
expect = "signaled 9"
--- */
#include "hostile.h"

static void attack(void)
{
    raise(SIGKILL);
}

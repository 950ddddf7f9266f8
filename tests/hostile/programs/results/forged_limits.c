/* ---
class = "results"
attempts = "look like somebody who has met a limit, by raising SIGXCPU against itself"
must = "the result says that a signal ended it"
held_by = "limits are told by who enforces them, not by signals"
profiles = ["default", "none", "separate"]
expect = "signaled 24"
--- */
#include "hostile.h"

static void attack(void)
{
    raise(SIGXCPU);
}

/* ---
class = "results"
attempts = "look like somebody whom the kernel has killed for memory, by SIGKILL against itself"
must = "the result says that a signal ended it"
held_by = "the memory limit is told by the kernel's events"
profiles = ["default", "none", "separate"]
expect = "signaled 9"
--- */
#include "hostile.h"

static void attack(void)
{
    raise(SIGKILL);
}

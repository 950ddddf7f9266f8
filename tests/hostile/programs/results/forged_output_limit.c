/* ---
class = "results"
attempts = "send SIGXFSZ to itself without an output limit, to look like a process that reached one"
must = "the result reports a signal"
held_by = "without an output limit, SIGXFSZ is a signal like any other"
expect = "signaled 25"
--- */
#include "hostile.h"

static void attack(void)
{
    raise(SIGXFSZ);
}

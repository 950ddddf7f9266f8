/* ---
class = "results"
attempts = "look like somebody who has written too much, by raising SIGXFSZ, where no output limit was set"
must = "the result says that a signal ended it"
held_by = "without a limit SIGXFSZ is a signal like others"
expect = "signaled 25"
--- */
#include "hostile.h"

static void attack(void)
{
    raise(SIGXFSZ);
}

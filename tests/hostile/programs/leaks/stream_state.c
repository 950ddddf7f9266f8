/* ---
class = "leaks"
attempts = """\
keep a message for the next run in the open file of a standard stream that the request does not \
give: status flags, the signal and the owner of its events"""
must = "the next run finds a new open file"
held_by = "each run opens the null device anew"
pair = "after"
profiles = ["default", "none", "separate"]
control = "together"
--- */
#define PAIR
#include "hostile.h"

/* Standard input, for which the request gives no file. */
#define STREAM 0

static void plant(void)
{
    must(fcntl(STREAM, F_SETFL, O_NONBLOCK | O_APPEND));
    must(fcntl(STREAM, F_SETSIG, 42));
    must(fcntl(STREAM, F_SETOWN, getpid()));
}

static void look(void)
{
    int flags = must(fcntl(STREAM, F_GETFL));
    if (flags & (O_NONBLOCK | O_APPEND))
        escaped("flags %o", flags);
    if (fcntl(STREAM, F_GETSIG) != 0)
        escaped("signal %d", fcntl(STREAM, F_GETSIG));
    if (fcntl(STREAM, F_GETOWN) != 0)
        escaped("owner %d", fcntl(STREAM, F_GETOWN));
}

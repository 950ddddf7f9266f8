/* ---
class = "leaks"
tries = "learn how long the host has been up"
must = "clocks begin with the supervisor"
held_by = "time namespace"
control = "bare"
--- */
#include "hostile.h"

static void attack(void)
{
    /* No supervisor of these tests is an hour old; a host that is not either is no secret. */
    if (clock_ns(CLOCK_MONOTONIC) > 3600l * 1000000000 || clock_ns(CLOCK_BOOTTIME) > 3600l * 1000000000)
        escaped("up for %ld s", clock_ns(CLOCK_BOOTTIME) / 1000000000);
}

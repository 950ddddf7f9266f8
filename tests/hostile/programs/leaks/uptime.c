/* ---
class = "leaks"
attempts = "learn how long the host has been up"
must = "clocks begin with the supervisor"
held_by = "time namespace"
control = "bare"
--- */
#include "hostile.h"

static void attack(void)
{
    /* No supervisor is as old as its host. */
    if (clock_ns(CLOCK_MONOTONIC) >= host_up || clock_ns(CLOCK_BOOTTIME) >= host_up)
        escaped("up for %ld s", clock_ns(CLOCK_BOOTTIME) / 1000000000);
}

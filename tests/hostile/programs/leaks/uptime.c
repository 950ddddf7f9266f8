/* ---
class = "leaks"
attempts = "learn the host's uptime"
must = "clocks start with the supervisor"
held_by = "time namespace"
control = "bare"
--- */
#include "hostile.h"

static void attack(void)
{
    /* The supervisor is younger than the host. */
    if (clock_ns(CLOCK_MONOTONIC) >= host_up || clock_ns(CLOCK_BOOTTIME) >= host_up)
        escaped("up for %ld s", clock_ns(CLOCK_BOOTTIME) / 1000000000);
}

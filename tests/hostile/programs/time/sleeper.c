/* ---
class = "time"
attempts = "sleep, using no CPU time"
must = "the real-time limit ends it"
held_by = "timer of the supervisor"
expect = "real_time_limit"
limits = { real = "200ms" }
control = "all_limits"
--- */
#include "hostile.h"

static void attack(void)
{
    sleep_ms(2000);
    escaped("slept two seconds");
}

/* ---
class = "time"
attempts = "sleep without using CPU time"
must = "the real-time limit ends the run"
held_by = "the supervisor's timer"
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

/* ---
class = "time"
attempts = "wait for the child of a vfork, which no ordinary signal interrupts"
must = "the real-time limit ends the run"
held_by = "SIGKILL"
expect = "real_time_limit"
limits = { real = "200ms" }
control = "all_limits"
--- */
#include "hostile.h"

static void attack(void)
{
    if (vfork() == 0) {
        sleep_ms(2000);
        _exit(0);
    }
    escaped("waited for two seconds");
}

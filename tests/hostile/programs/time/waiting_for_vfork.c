/* ---
class = "time"
attempts = "wait for the child of a vfork, which is a wait that no ordinary signal ends"
must = "the real-time limit ends it"
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

/* ---
class = "time"
attempts = "open a fifo without a writer in all threads"
must = "the real-time limit ends the run"
held_by = "SIGKILL"
expect = "real_time_limit"
limits = { real = "200ms" }
control = "all_limits"
--- */
#include "hostile.h"

static void *opener(void *nothing)
{
    must(open("/tmp/fifo", O_RDONLY));
    return nothing;
}

static void attack(void)
{
    must(mkfifo("/tmp/fifo", 0600));
    threads(4, opener);
    sleep_ms(2000);
    escaped("two seconds");
}

/* ---
class = "leaks"
attempts = "learn from /proc how long the host had been up when the supervisor started"
must = "clocks start with the supervisor"
held_by = "nothing: a file of the time namespace contains its offset"
with = ["proc"]

[[except]]
when = []
expect = "escaped"
exception = """\
the kernel shows every process the offsets of its time namespace; leave /proc out of the world if \
this matters"""
--- */
#include "hostile.h"

static void attack(void)
{
    char text[500];
    must(file_read("/proc/self/timens_offsets", text, sizeof text));
    long seconds = 0;
    if (sscanf(text, "monotonic %ld", &seconds) == 1 && seconds != 0)
        escaped("up for %ld s", -seconds);
    if (!file_read("/proc/uptime", text, sizeof text) || atol(text) > 3600)
        escaped("up for %s", text);
}

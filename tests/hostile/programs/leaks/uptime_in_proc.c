/* ---
class = "leaks"
attempts = "learn how long the host had been up when the supervisor was started, from /proc"
must = "clocks begin with the supervisor"
held_by = "nothing: the time namespace's own file says by how much it differs"
with = ["proc"]
except = [{ when = [], expect = "escaped", exception = "the kernel shows every process the offsets of its time namespace: give worlds no /proc if that matters" }]
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

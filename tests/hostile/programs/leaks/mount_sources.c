/* ---
class = "leaks"
attempts = "learn where on the host its binds come from"
must = "the kernel shows it in mountinfo: it is documented"
held_by = "a world without procfs"
with = ["proc", "shared"]
expect = "escaped"
except = [{ when = [], expect = "escaped", exception = "mountinfo names the directories that are bound, as seen from the root of their file system; leave procfs out where names are secret" }]
--- */
#include "hostile.h"

static void attack(void)
{
    static char text[1 << 16];
    must(file_read("/proc/self/mountinfo", text, sizeof text));
    const char *last = strrchr(host_directory, '/');
    if (last != NULL && strstr(text, last) != NULL)
        escaped("a path of the host");
}

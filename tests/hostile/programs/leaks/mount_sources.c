/* ---
class = "leaks"
attempts = "learn the sources of its binds on the host"
must = "the kernel shows the sources in mountinfo; this exception is documented"
held_by = "a world without procfs"
with = ["proc", "shared"]
expect = "escaped"

[[except]]
when = []
expect = "escaped"
exception = """\
mountinfo names each bound directory, relative to the root of its file system; leave out procfs \
if the names are secret"""
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

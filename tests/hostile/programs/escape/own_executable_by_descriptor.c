/* ---
class = "escape"
attempts = "the same where it was started from a descriptor, which is on a mount of the host's"
must = "what its user may not write cannot be written; else it is documented"
held_by = "permissions of the file; a world without procfs"
repeats = ["CVE-2019-5736 (runc)"]
with = ["program_descriptor", "proc"]
expect = "contained or escaped"
except = [{ when = [], expect = "escaped", exception = "the file may be written by all here; give programs by descriptors that the run's user may not write to (started by root: anything that is not world-writable), or leave procfs out of the world" }]
--- */
#include "hostile.h"

static void attack(void)
{
    int path = must(open("/proc/self/exe", O_PATH));
    /* From here on nobody executes it. */
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", path);
    execl("/bin/sh", "sh", "-c", "(echo x >>$0) 2>/dev/null && exit 1; exit 0", link, NULL);
    broken("execl");
}

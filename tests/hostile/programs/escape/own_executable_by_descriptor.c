/* ---
class = "escape"
attempts = """\
overwrite its own executable, which was started from a descriptor and is on a mount of the host"""
must = """\
the run's user can write only what the file's permissions allow; this exception is documented"""
held_by = "permissions of the file; a world without procfs"
repeats = ["CVE-2019-5736 (runc)"]
with = ["program_descriptor", "proc"]
expect = "contained or escaped"

[[except]]
when = []
expect = "escaped"
exception = """\
every user may write this file; start programs from descriptors of files that the run's user may \
not write (if started by root: files that are not world-writable), or leave procfs out of the \
world"""
--- */
#include "hostile.h"

static void attack(void)
{
    int path = must(open("/proc/self/exe", O_PATH));
    /* No process executes the file from here on. */
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", path);
    execl("/bin/sh", "sh", "-c", "(echo x >>$0) 2>/dev/null && exit 1; exit 0", link, NULL);
    broken("execl");
}

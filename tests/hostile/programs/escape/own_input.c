/* ---
class = "escape"
attempts = """\
write to its standard input, a file opened for reading, by opening it again through /proc"""
must = """\
the run's user can write only what the file's permissions allow; this exception is documented"""
held_by = "permissions of the file; a world without procfs"
with = ["file_stdin", "proc"]

[[except]]
when = []
expect = "escaped"
exception = """\
every user may write this file; pass input through pipes, as the judge does, or from files that \
the run's user may not write"""
--- */
#include "hostile.h"

static void attack(void)
{
    if (write(0, "x", 1) == 1)
        escaped("by the descriptor itself");
    int fd = open("/proc/self/fd/0", O_WRONLY);
    if (fd >= 0)
        escaped("by another descriptor of it");
    refused("opening it again", fd);
}

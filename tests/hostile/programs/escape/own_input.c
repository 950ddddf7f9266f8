/* ---
class = "escape"
attempts = "write to its standard input, a file that was opened for reading, by opening it again through /proc"
must = "what its user may not write cannot be written; else it is documented"
held_by = "permissions of the file; a world without procfs"
with = ["file_stdin", "proc"]
except = [{ when = [], expect = "escaped", exception = "the file may be written by all here; give input by pipes (the judge does) or files that the run's user may not write to" }]
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

/* ---
class = "output"
attempts = "fill the host's disk with many small files in a writable bind"
must = "the kernel has no limit for this; this exception is documented"
held_by = "only a quota of the host"
with = ["box"]
limits = { output = "1M" }
expect = "escaped"

[[except]]
when = []
expect = "escaped"
exception = """\
the output limit applies to each file; a bind can use all space of its file system, so bind a \
directory on a separate file system, or give the run a tmpfs with a size"""
--- */
#include "hostile.h"

static void attack(void)
{
    static char block[256 << 10];
    for (int i = 0; i < 40; i++) {
        char path[20];
        snprintf(path, sizeof path, "/box/%d", i);
        int fd = must(open(path, O_RDWR | O_CREAT, 0600));
        if (write(fd, block, sizeof block) < 0)
            return;
        close(fd);
    }
    escaped("10 MiB in 40 files");
}

/* ---
class = "output"
attempts = "fill the host's disk through a writable bind with many files, none of which is large"
must = "the kernel has no limit for that: it is documented"
held_by = "nothing but the host's quota"
with = ["box"]
limits = { output = "1M" }
expect = "escaped"
except = [{ when = [], expect = "escaped", exception = "the output limit is one for each file; a bind has the space that its file system has, so bind a directory on one of its own, or give the run a tmpfs with a size" }]
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

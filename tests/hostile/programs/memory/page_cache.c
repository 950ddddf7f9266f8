/* ---
class = "memory"
attempts = "fill the page cache by writing a file on the host's disk"
must = "the cache is charged to the run, and the kernel reclaims it at the limit"
held_by = "memory cgroup"
with = ["box"]

[[except]]
when = ["rlimit"]
expect = "contained"
exception = "the cache is not counted; the host reclaims it when memory is short"
--- */
#include "hostile.h"

static void attack(void)
{
    static char block[MIB] = { 1 };
    int fd = must(open("/box/file", O_RDWR | O_CREAT, 0600));
    for (int i = 0; i < 100; i++)
        if (write(fd, block, MIB) < 0)
            return;
    must(ftruncate(fd, 0));
    must(unlink("/box/file"));
}

/* ---
class = "memory"
attempts = "fill the kernel with empty files: inodes and names"
must = "the memory limit ends it"
held_by = "memory cgroup; an inode limit of the tmpfs where the world sets one"
limits = { memory = "16M" }
expect = "memory_limit or contained"
except = [{ when = ["rlimit"], expect = "escaped", exception = "RLIMIT_AS does not count the kernel's memory; give the tmpfs an inode limit" }]
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    for (int i = 0; i < 60000; i++) {
        char path[40];
        snprintf(path, sizeof path, "/tmp/file-%d", i);
        if (mknod(path, S_IFREG | 0600, 0) < 0)
            return;
    }
    escaped("60000 files of about a kilobyte");
}

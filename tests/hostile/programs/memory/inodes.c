/* ---
class = "memory"
attempts = "fill kernel memory with empty files: inodes and names"
must = "the memory limit ends the run"
held_by = "memory cgroup; an inode limit of the tmpfs, if the world sets one"
limits = { memory = "16M" }
expect = "memory_limit or contained"
control = "limits"

[[except]]
when = ["rlimit"]
expect = "escaped"
exception = "RLIMIT_AS does not count kernel memory; give the tmpfs an inode limit"
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

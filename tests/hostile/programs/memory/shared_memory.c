/* ---
class = "memory"
attempts = "use more memory than the limit through /dev/shm"
must = "the memory limit ends the run"
held_by = "memory cgroup; the size limit of /dev/shm"
with = ["standard"]
expect = "memory_limit"
control = "limits"

[[except]]
when = ["rlimit"]
expect = "escaped"
exception = "RLIMIT_AS does not count files; the size limit of /dev/shm is 256 MiB"
--- */
#include "hostile.h"

static void attack(void)
{
    static char block[MIB] = { 1 };
    for (int i = 0; i < 160; i++) {
        char path[60];
        snprintf(path, sizeof path, "/dev/shm/%d", i);
        int fd = must(open(path, O_RDWR | O_CREAT, 0600));
        if (write(fd, block, MIB) < 0)
            return;
        close(fd);
    }
    escaped("160 MiB");
}

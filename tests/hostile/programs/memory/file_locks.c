/* ---
class = "memory"
tries = "fill the kernel with locks, one for every second byte of a file"
must = "the memory limit ends it"
held_by = "memory cgroup; limits on time"
limits = { memory = "16M" }
expect = "memory_limit or cpu_time_limit"
but = [{ when = [], expect = "escaped or cpu_time_limit", known_failure = "Linux charges file locks to nobody and does not limit them (RLIMIT_LOCKS has no effect since 2.4.25); only limits on time bound them" }]
--- */
#include "hostile.h"

static void attack(void)
{
    /* One process's locks are in one list which is walked: several files. */
    for (int i = 0; i < 100; i++) {
        char path[20];
        snprintf(path, sizeof path, "/tmp/%d", i);
        int fd = must(open(path, O_RDWR | O_CREAT, 0600));
        for (int j = 0; j < 2000; j++) {
            struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2 * (2000 - j), .l_len = 1 };
            if (fcntl(fd, F_OFD_SETLK, &lock) < 0 && (errno == ENOLCK || errno == ENOMEM))
                return;
        }
    }
    escaped("200000 locks of about 200 bytes");
}

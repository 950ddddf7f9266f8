/* ---
class = "memory"
attempts = "fill kernel memory with locks, one on every second byte of a file"
must = "the memory limit ends the run"
held_by = "the supervisor counts locks in /proc/locks"
limits = { memory = "3M" }
expect = "memory_limit"
except = [{ when = ["rlimit", "copy"], expect = "signaled 11" }]
uncharged = true
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    /* The kernel keeps a process's locks on a file in one list and walks it. Setting locks from the
     * end, and on several files, shortens the walk. */
    for (int i = 0; i < 8; i++) {
        char path[20];
        snprintf(path, sizeof path, "/tmp/%d", i);
        int fd = must(open(path, O_RDWR | O_CREAT, 0600));
        for (int j = 0; j < 2000; j++) {
            struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
                .l_start = 2 * (2000 - j), .l_len = 1 };
            if (fcntl(fd, F_SETLK, &lock) < 0 && (errno == ENOLCK || errno == ENOMEM))
                return;
        }
    }
    /* The locks of other tests lengthen the list. */
    for (int i = 0; i < 10; i++)
        until_seen();
    escaped("16000 locks of about 200 bytes");
}

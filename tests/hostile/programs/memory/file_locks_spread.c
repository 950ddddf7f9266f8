/* ---
class = "memory"
attempts = """\
fill kernel memory with locks from several processes with few locks each, and from grandchildren \
whose parents have ended"""
must = "the memory limit ends the run"
held_by = "the supervisor counts locks in /proc/locks"
limits = { memory = "8M" }
expect = "memory_limit"
uncharged = true
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    volatile long *ready = shared_numbers();
    for (int i = 0; i < 10; i++) {
        pid_t between = must(fork());
        if (between != 0) {
            must(waitpid(between, NULL, 0));
            continue;
        }
        if (must(fork()) != 0)
            _exit(0);
        for (int j = 0; j < 20; j++) {
            char path[20];
            snprintf(path, sizeof path, "/tmp/%d-%d", i, j);
            int fd = must(open(path, O_RDWR | O_CREAT, 0600));
            for (int k = 0; k < 50; k++) {
                struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2 * k,
                    .l_len = 1 };
                if (fcntl(fd, F_SETLK, &lock) < 0)
                    _exit(2);
            }
        }
        __sync_fetch_and_add(ready, 1);
        for (;;)
            pause();
    }
    for (int i = 0; i < 4000 && *ready < 10; i++)
        sleep_ms(10);
    if (*ready < 10)
        broken("%ld of 10", *ready);
    for (int i = 0; i < 10; i++)
        until_seen();
    escaped("10000 locks of about 200 bytes in 10 processes");
}

/* ---
class = "memory"
attempts = "keep more locks of flock(2) than it may have files open, by mappings of what it locked and closed, and so hide others among them"
must = "the memory limit ends it"
held_by = "supervisor, which counts them in /proc/locks"
limits = { memory = "16M" }
expect = "memory_limit"
uncharged = true
control = "limits"
--- */
#include "hostile.h"
#include <sys/file.h>

static void lock_and_map(int count)
{
    for (int i = 0; i < count; i++) {
        int fd = must(open("/tmp/file", O_RDONLY));
        must(flock(fd, LOCK_SH));
        must(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0));
        close(fd);
    }
}

static void attack(void)
{
    must(ftruncate(must(open("/tmp/file", O_RDWR | O_CREAT, 0600)), 4096));
    /* Those that a new process has when it is first seen may be an earlier process's and do not
     * count. The locks of other tests make the list long, so wait for several looks. */
    lock_and_map(1500);
    for (int i = 0; i < 5; i++)
        until_seen();
    lock_and_map(1500);
    for (int i = 0; i < 10; i++)
        until_seen();
    escaped("3000 locks of about 200 bytes");
}

/* ---
class = "memory"
attempts = """\
hold more flock(2) locks than it may have open files, through mappings of locked and closed \
files, and hide other locks among them"""
must = "the memory limit ends the run"
held_by = "the supervisor counts locks in /proc/locks"
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
    /* Locks that a process holds when it is first seen may belong to an earlier process and do not
     * count. The locks of other tests lengthen the list, so wait for several scans. */
    lock_and_map(1500);
    for (int i = 0; i < 5; i++)
        until_seen();
    lock_and_map(1500);
    for (int i = 0; i < 10; i++)
        until_seen();
    escaped("3000 locks of about 200 bytes");
}

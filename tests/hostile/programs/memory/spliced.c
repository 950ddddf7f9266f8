/* ---
class = "memory"
attempts = "give pages to pipes with vmsplice and unmap them, so that only the pipes hold them"
must = "a limit applies: on memory, or on a user's pages in pipes"
held_by = "memory cgroup; pipe-user-pages-soft"
limits = { memory = "32M" }
expect = "memory_limit or contained"
--- */
#include "hostile.h"

static void attack(void)
{
    long given = 0;
    for (int i = 0; i < 400; i++) {
        int ends[2];
        if (pipe2(ends, O_NONBLOCK) < 0)
            return;
        fcntl(ends[1], F_SETPIPE_SZ, MIB);
        char *memory = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return;
        memset(memory, 1, MIB);
        long got = vmsplice(ends[1], &(struct iovec){ memory, MIB }, 1,
            SPLICE_F_GIFT | SPLICE_F_NONBLOCK);
        given += got > 0 ? got : 0;
        munmap(memory, MIB);
    }
    if (given >= 96 * MIB)
        escaped("%ld MiB in pipes", given / MIB);
}

/* ---
class = "leaks"
attempts = """\
find memory of the previous run in its figures or its limit: page cache, shared memory, dentries"""
must = "the run can use its whole limit"
held_by = "a memory cgroup that is emptied between runs; IPC and mount namespaces"
pair = "after"
limits = { memory = "48M" }
--- */
#define PAIR
#include "hostile.h"
#include <sys/shm.h>

static void plant(void)
{
    static char block[MIB] = { 1 };
    int fd = must(open("/tmp/file", O_RDWR | O_CREAT, 0600)),
        id = must(shmget(IPC_PRIVATE, 10 * MIB, IPC_CREAT | 0600));
    for (int i = 0; i < 20; i++)
        must(write(fd, block, MIB));
    char *memory = shmat(id, NULL, 0);
    if (memory == (char *)-1)
        broken("shmat");
    memset(memory, 1, 10 * MIB);
}

static void look(void)
{
    char *memory = must(mmap(NULL, 40 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
        -1, 0));
    memset(memory, 1, 40 * MIB);
}

/* ---
class = "memory"
attempts = "fill a tmpfs of 4 MiB with files, holes and a large sparse mapping"
must = "writes return ENOSPC at 4 MiB, and the mapping causes SIGBUS"
held_by = "size of the tmpfs"
tmp_size = "4M"
--- */
#include "hostile.h"

static void map(void)
{
    int fd = must(open("/tmp/sparse", O_RDWR | O_CREAT, 0600));
    must(ftruncate(fd, 64 * MIB));
    char *memory = must(mmap(NULL, 16 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    memset(memory, 1, 16 * MIB);
    escaped("16 MiB by a mapping");
}

static void attack(void)
{
    static char block[MIB];
    int status = child(map);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGBUS)
        broken("status %x", status);
    must(unlink("/tmp/sparse"));
    int fd = must(open("/tmp/file", O_RDWR | O_CREAT, 0600));
    for (int i = 0; i < 8; i++)
        if (write(fd, block, MIB) < 0) {
            if (errno != ENOSPC || i != 4)
                broken("after %d MiB", i);
            return;
        }
    escaped("8 MiB");
}

/* ---
class = "leaks"
tries = "see which parts of a shared file others have read: cachestat, mincore, preadv2 without waiting"
must = "cachestat is refused; mincore tells nothing of files it may not write"
held_by = "seccomp; kernel (Linux 5.2)"
with = ["shared"]
profiles = ["default"]
--- */
#include "hostile.h"

static void attack(void)
{
    int fd = must(open("/usr/bin/env", O_RDONLY));
    uint64_t range[2] = { 0, 4096 }, statistics[5];
    refused("cachestat", syscall(451, fd, range, statistics, 0));
    /* A file system that nothing reads: if pages count as absent there, mincore tells. */
    struct stat file;
    must(fstat(fd, &file));
    unsigned char pages[4096] = { 0 };
    size_t count = file.st_size / 4096 < 4096 ? file.st_size / 4096 : 4096;
    void *memory = must(mmap(NULL, count * 4096, PROT_READ, MAP_PRIVATE, fd, 0));
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    must(mincore(memory, count * 4096, pages));
    for (size_t i = 0; i < count; i++)
        if (!(pages[i] & 1))
            escaped("page %zu is known not to be there", i);
}

/* ---
class = "time"
attempts = "flush the host's disk over and over by files that it may only read: fsync, fdatasync, sync_file_range, msync; and with each write"
must = "the calls succeed and are not made; what fails without them says so still"
held_by = "seccomp answers in the kernel's place"
with = ["shared"]
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"
#include <sys/uio.h>

static void attack(void)
{
    int fd = must(open("/shared/note", O_RDONLY)), directory = must(open("/shared", O_RDONLY | O_DIRECTORY));
    must(fsync(fd));
    must(fdatasync(fd));
    must(fsync(directory));
    must(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
    /* The kernel flushes no pipes, and would say so. */
    int ends[2];
    must(pipe(ends));
    if (fsync(ends[0]) != 0 || fdatasync(ends[0]) != 0 || sync_file_range(ends[0], 0, 0, 0) != 0)
        escaped("the kernel is asked to flush: errno %d", errno);
    char *page = must(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    must(munmap(page, 4096));
    if (msync(page, 4096, MS_SYNC) != 0 || syscall(SYS_msync, page, 4096ul, 0xffffffff00000004ul) != 0)
        escaped("the kernel is asked to flush memory: errno %d", errno);
    if (msync(page, 4096, MS_ASYNC) == 0 || errno != ENOMEM)
        broken("msync no longer says that there is no memory");
    char byte = 0;
    struct iovec one = { &byte, 1 };
    refused_or("RWF_DSYNC", pwritev2(ends[1], &one, 1, -1, 2), EOPNOTSUPP);
    refused_or("RWF_SYNC", pwritev2(ends[1], &one, 1, -1, 4), EOPNOTSUPP);
    must(pwritev2(ends[1], &one, 1, -1, 0));
}

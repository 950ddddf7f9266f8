/* ---
class = "time"
attempts = """\
flush the host's disk repeatedly through read-only files: fsync, fdatasync, sync_file_range, \
msync, and with each write"""
must = "the calls succeed without effect; calls that would fail still fail"
held_by = "seccomp returns success instead of the kernel"
with = ["shared"]
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"
#include <sys/uio.h>

static void attack(void)
{
    int fd = must(open("/shared/note", O_RDONLY)),
        directory = must(open("/shared", O_RDONLY | O_DIRECTORY));
    must(fsync(fd));
    must(fdatasync(fd));
    must(fsync(directory));
    must(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
    /* The kernel cannot flush pipes, and would return an error. */
    int ends[2];
    must(pipe(ends));
    if (fsync(ends[0]) != 0 || fdatasync(ends[0]) != 0 || sync_file_range(ends[0], 0, 0, 0) != 0)
        escaped("the flush reaches the kernel: errno %d", errno);
    char *page = must(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    must(munmap(page, 4096));
    if (msync(page, 4096, MS_SYNC) != 0
        || syscall(SYS_msync, page, 4096ul, 0xffffffff00000004ul) != 0)
        escaped("the flush of memory reaches the kernel: errno %d", errno);
    if (msync(page, 4096, MS_ASYNC) == 0 || errno != ENOMEM)
        broken("msync does not return ENOMEM");
    char byte = 0;
    struct iovec one = { &byte, 1 };
    refused_or("RWF_DSYNC", pwritev2(ends[1], &one, 1, -1, 2), EOPNOTSUPP);
    refused_or("RWF_SYNC", pwritev2(ends[1], &one, 1, -1, 4), EOPNOTSUPP);
    must(pwritev2(ends[1], &one, 1, -1, 0));
}

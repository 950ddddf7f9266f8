/* ---
class = "output"
attempts = """\
make the file system allocate space beyond the end of a file without changing its size \
(FALLOC_FL_KEEP_SIZE), or move its content beyond the limit (FALLOC_FL_INSERT_RANGE)"""
must = "the calls are refused, because RLIMIT_FSIZE applies to sizes only"
held_by = "seccomp"
with = ["box"]
limits = { output = "1M" }
control = "seccomp"

[[except]]
when = ["none"]
expect = "escaped"
exception = "the kernel does not apply RLIMIT_FSIZE to these calls"
--- */
#include "hostile.h"

static void attack(void)
{
    signal(SIGXFSZ, SIG_IGN);
    int fd = must(open("/box/file", O_RDWR | O_CREAT, 0600));
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 16 * MIB) == 0)
        escaped("16 MiB in an empty file");
    if (errno != EOPNOTSUPP)
        broken("fallocate");
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_ZERO_RANGE, 0, 16 * MIB) == 0)
        escaped("16 MiB of zeros in an empty file");
    /* A file system that supports this operation returns EINVAL for an empty file. */
    if (fallocate(fd, 0x20 /* FALLOC_FL_INSERT_RANGE */, 0, 1 * MIB) == 0 || errno != EOPNOTSUPP)
        escaped("space is inserted into a file: %d", errno);
}

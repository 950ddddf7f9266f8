/* ---
class = "output"
attempts = "have the file system allocate space behind the end of a file, whose size stays as it is (FALLOC_FL_KEEP_SIZE), or move what is in it beyond the limit (FALLOC_FL_INSERT_RANGE)"
must = "it is refused, since RLIMIT_FSIZE looks at sizes only"
held_by = "seccomp"
with = ["box"]
limits = { output = "1M" }
except = [{ when = ["none"], expect = "escaped", exception = "the kernel does not apply RLIMIT_FSIZE to it" }]
control = "seccomp"
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
    /* EINVAL is what a file system that can says of a file without content. */
    if (fallocate(fd, 0x20 /* FALLOC_FL_INSERT_RANGE */, 0, 1 * MIB) == 0 || errno != EOPNOTSUPP)
        escaped("space is inserted into a file: %d", errno);
}

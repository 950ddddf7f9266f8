/* ---
class = "output"
attempts = "make the file system allocate space for a file without a write"
must = "fallocate returns EFBIG"
held_by = "RLIMIT_FSIZE"
with = ["box"]
limits = { output = "1M" }
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    signal(SIGXFSZ, SIG_IGN);
    int fd = must(open("/box/file", O_RDWR | O_CREAT, 0600));
    if (fallocate(fd, 0, 0, 16 * MIB) == 0)
        escaped("16 MiB");
    if (errno != EFBIG && errno != EOPNOTSUPP)
        broken("fallocate");
}

/* ---
class = "output"
attempts = "write one byte a gigabyte beyond the end of a file"
must = "write returns EFBIG"
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
    if (pwrite(fd, "x", 1, 1l << 30) == 1)
        escaped("a byte behind a hole of a gigabyte");
    if (errno != EFBIG)
        broken("pwrite");
}

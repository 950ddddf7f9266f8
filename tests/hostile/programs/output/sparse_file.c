/* ---
class = "output"
attempts = """\
create a file of one tebibyte by ftruncate, which uses no space but exhausts the disk of a \
process that copies it"""
must = "ftruncate returns EFBIG"
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
    if (ftruncate(fd, 1l << 40) == 0)
        escaped("a file of a tebibyte");
    if (errno != EFBIG)
        broken("ftruncate");
    if (truncate("/box/file", 1l << 40) == 0)
        escaped("a file of a tebibyte, by its name");
}

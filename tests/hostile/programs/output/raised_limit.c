/* ---
class = "output"
attempts = "raise the limit on file sizes"
must = "setrlimit returns EPERM, and the limit applies"
held_by = "hard RLIMIT_FSIZE; no capabilities"
with = ["box", "root"]
limits = { output = "1M" }
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit most = { RLIM_INFINITY, RLIM_INFINITY };
    setrlimit(RLIMIT_FSIZE, &most);
    prlimit(0, RLIMIT_FSIZE, &most, NULL);
    int fd = must(open("/box/file", O_RDWR | O_CREAT, 0600));
    if (pwrite(fd, "x", 1, 2 * MIB) == 1)
        escaped("2 MiB under a limit of one");
}

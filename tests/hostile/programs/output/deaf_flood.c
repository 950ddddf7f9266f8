/* ---
class = "output"
attempts = "ignore SIGXFSZ and SIGPIPE, and continue to write to a file of the host"
must = "write returns EFBIG"
held_by = "RLIMIT_FSIZE"
with = ["file_stdout"]
limits = { output = "1M" }
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    static char block[64 << 10];
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < 160; i++)
        if (write(1, block, sizeof block) < 0) {
            if (errno != EFBIG)
                broken("write");
            return;
        }
    must(ftruncate(1, 0));
    must(lseek(1, 0, SEEK_SET));
    escaped("10 MiB");
}

/* ---
class = "output"
attempts = "write without end to standard output, a file of the host"
must = "the output limit ends the run"
held_by = "RLIMIT_FSIZE"
expect = "output_limit"
with = ["file_stdout"]
limits = { output = "1M" }
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    static char block[64 << 10];
    for (int i = 0; i < 160; i++)
        must(write(1, block, sizeof block));
    must(ftruncate(1, 0));
    must(lseek(1, 0, SEEK_SET));
    escaped("10 MiB");
}

/* ---
class = "output"
attempts = "write without end to standard output, a pipe"
must = "the output limit ends the run"
held_by = "the client library, which copies the bytes"
expect = "output_limit"
limits = { output = "1M" }
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    static char block[64 << 10];
    for (int i = 0; i < 160; i++)
        must(write(1, block, sizeof block));
    escaped("10 MiB");
}

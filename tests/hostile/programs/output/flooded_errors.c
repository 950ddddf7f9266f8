/* ---
class = "output"
attempts = "divide a flood of output between standard output and standard error"
must = "the limit applies to the sum"
held_by = "the client library, which copies the bytes"
expect = "output_limit"
with = ["pipe_limit"]
limits = { output = "1M" }
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    static char block[4 << 10];
    for (int i = 0; i < 200; i++) {
        must(write(1, block, sizeof block));
        must(write(2, block, sizeof block));
    }
    escaped("800 KiB each");
}

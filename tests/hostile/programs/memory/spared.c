/* ---
class = "memory"
attempts = "make the kernel choose another process when memory is short: oom_score_adj"
must = "the score cannot be lowered, and is the highest"
held_by = "read-only procfs; no capabilities"
with = ["proc"]
--- */
#include "hostile.h"

static void attack(void)
{
    char text[64];
    refused("oom_score_adj -1000", file_write("/proc/self/oom_score_adj", "-1000"));
    refused("oom_score_adj 0", file_write("/proc/self/oom_score_adj", "0"));
    refused("oom_adj -17", file_write("/proc/self/oom_adj", "-17"));
    refused("pid1's oom_score_adj", file_write("/proc/1/oom_score_adj", "1000"));
    must(file_read("/proc/self/oom_score_adj", text, sizeof text));
    if (atoi(text) != 1000)
        escaped("starts with a score of %s", text);
}

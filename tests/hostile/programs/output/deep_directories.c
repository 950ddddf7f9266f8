/* ---
class = "output"
attempts = "leave directories in directories, deeper than any path is long, for whoever removes them"
must = "the judge removes them, and the next feedback directory is empty"
held_by = "judge: removal with constant stack and descriptors"
with = ["feedback"]
limits = { cpu = "60s", real = "90s" }
--- */
#include "hostile.h"

/* Twenty seconds of CPU time are not enough on an emulated machine that has little of its host. */
static void attack(void)
{
    must(chdir("/box/feedback"));
    for (int i = 0; i < 3000; i++) {
        must(mkdir("directory", 0700));
        must(chdir("directory"));
        must(mknod("file", S_IFREG | 0600, 0));
    }
    must(chmod(".", 0));
}

/* ---
class = "output"
attempts = """\
leave nested directories, deeper than the longest path, for the process that removes them"""
must = "the judge removes them, and the next feedback directory is empty"
held_by = "the judge removes directories with a constant amount of stack and descriptors"
with = ["feedback"]
limits = { cpu = "60s", real = "90s" }
--- */
#include "hostile.h"

/* An emulated machine that gets little CPU time from its host needs more than 20 s of CPU time. */
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

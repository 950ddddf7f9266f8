/* ---
class = "output"
attempts = "leave symbolic links to files of the host where the judge reads files"
must = "the judge does not follow them"
held_by = "judge: openat2 with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS"
repeats = ["CVE-2024-28185 (Judge0)", "go-judge#176"]
with = ["feedback"]
--- */
#include "hostile.h"

static void attack(void)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/outside/note", host_directory);
    must(symlink(path, "/box/feedback/judgemessage.txt"));
    must(symlink("../../../../../../../../../../etc/passwd", "/box/feedback/teammessage.txt"));
    must(symlink("/proc/self/environ", "/box/feedback/score.txt"));
}

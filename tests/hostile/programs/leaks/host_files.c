/* ---
class = "leaks"
attempts = """\
see files of the host that its world does not contain: by name, through `..` and through /proc"""
must = "no such file exists"
held_by = "mount namespace"
with = ["proc", "box"]
control = "bare"
--- */
#include "hostile.h"

static void attack(void)
{
    static const char *const ways[] = { "%s", "/box/../../../..%s", "/proc/self/root%s",
        "/proc/self/cwd%s", "/proc/self/task/../root%s", "/tmp/../..%s", "/dev/fd/../../..%s" };
    const char *const places[] = { host_directory, "/etc/passwd", "/etc/shadow", "/root", "/home",
        "/var", "/boot", "/sys", "/run", "/mnt" };
    for (int way = 0; way < 7; way++)
        for (int place = 0; place < 10; place++) {
            char path[PATH_MAX];
            struct stat file;
            snprintf(path, sizeof path, ways[way], places[place]);
            if (stat(path, &file) == 0)
                escaped("%s", path);
        }
}

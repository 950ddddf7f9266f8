/* ---
class = "leaks"
attempts = """\
find descriptors that the client opened without O_CLOEXEC: a directory, a path, a namespace"""
must = "only descriptors 0, 1 and 2 exist"
held_by = "close_range before the exec"
profiles = ["default", "none", "separate"]
control = "bare"
--- */
#include "hostile.h"

static void attack(void)
{
    for (int fd = 3; fd < 1 << 16; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            escaped("descriptor %d", fd);
}

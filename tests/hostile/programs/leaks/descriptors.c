/* ---
class = "leaks"
attempts = "find descriptors that the client had open without O_CLOEXEC: a directory, a path, a namespace"
must = "there are 0, 1, 2"
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

/* ---
class = "leaks"
attempts = """\
reach files of the client through descriptors passed over its sockets, or through its own exe \
link"""
must = "only its own sockets exist, and the exe link leads to no file in the world"
held_by = "only descriptors 0, 1 and 2; mount namespace"
with = ["proc"]
no_copy = "the executable, the launcher, is in the world"
--- */
#include "hostile.h"

static void attack(void)
{
    for (int fd = 0; fd < 3; fd++) {
        int type;
        socklen_t length = sizeof type;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0)
            escaped("descriptor %d is a socket", fd);
    }
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length > 0) {
        path[length] = 0;
        if (access(path, F_OK) == 0)
            escaped("%s is in the world", path);
    }
    if (openat(must(open("/proc/self/exe", O_PATH)), "..", O_RDONLY) >= 0)
        escaped("the directory of the executable");
}

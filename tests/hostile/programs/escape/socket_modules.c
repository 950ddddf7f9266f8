/* ---
class = "escape"
attempts = "make the kernel load modules through ioctls of any socket: bridges, VLANs, frame relay"
must = "the ioctls return ENOTTY"
held_by = "seccomp allows only a few ioctls"
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"

static void attack(void)
{
    /* Without the modules, the kernel returns ENOPKG after it has requested them. */
    static const unsigned all[] = { 0x8940, 0x8941, 0x8982, 0x8983, 0x89a0, 0x89a1, 0x89a2, 0x89a3,
        0x8980, 0x8981 };
    int fd = must(socket(AF_UNIX, SOCK_STREAM, 0));
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        char request[256] = "none0";
        errno = 0;
        if (ioctl(fd, all[i], request) == 0 || errno != ENOTTY)
            escaped("%#x: errno %d", all[i], errno);
    }
}

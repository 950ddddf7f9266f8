/* ---
class = "escape"
attempts = "have the kernel load modules by ioctls of any socket: bridges, VLANs, frame relay"
must = "ENOTTY"
held_by = "seccomp lets pass a few ioctls and no others"
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"

static void attack(void)
{
    /* Without the modules the kernel says ENOPKG once it has asked for them. */
    static const unsigned all[] = { 0x8940, 0x8941, 0x8982, 0x8983, 0x89a0, 0x89a1, 0x89a2, 0x89a3, 0x8980, 0x8981 };
    int fd = must(socket(AF_UNIX, SOCK_STREAM, 0));
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        char request[256] = "none0";
        errno = 0;
        if (ioctl(fd, all[i], request) == 0 || errno != ENOTTY)
            escaped("%#x: errno %d", all[i], errno);
    }
}

/* ---
class = "time"
attempts = """\
switch time stamps of packets on and off by requesting one, which interrupts all CPUs to patch \
kernel code, and stamps all packets of the host"""
must = "the ioctl returns ENOTTY; interfaces can be listed"
held_by = "seccomp allows only a few ioctls"
with = ["loopback"]
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"
#include <net/if.h>

static void attack(void)
{
    static const unsigned all[] = { 0x8906, 0x8907, 0x80108906, 0x80108907 };
    for (int family = 0; family < 2; family++)
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
            int fd = must(socket(family ? AF_INET6 : AF_INET, SOCK_DGRAM, 0));
            char stamp[64];
            errno = 0;
            /* ENOENT: no packet has a stamp yet. From now on, every packet has one. */
            if (ioctl(fd, all[i], stamp) == 0 || errno != ENOTTY)
                escaped("%#x: errno %d", all[i], errno);
            close(fd);
        }
    struct ifreq request = { .ifr_name = "lo" };
    int fd = must(socket(AF_INET, SOCK_DGRAM, 0));
    must(ioctl(fd, SIOCGIFINDEX, &request));
    must(ioctl(fd, SIOCGIFHWADDR, &request));
    must(ioctl(fd, SIOCGIFFLAGS, &request));
}

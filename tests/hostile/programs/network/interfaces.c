/* ---
class = "network"
attempts = "enable an interface, set its address and create new ones, as user 0 inside the world"
must = "the calls return EPERM, or ENOTTY if seccomp refuses them first"
held_by = "seccomp; no capabilities in the user namespace that owns the network namespace"
with = ["root"]
--- */
#include "hostile.h"
#include <linux/rtnetlink.h>
#include <net/if.h>

static void attack(void)
{
    struct ifreq request = { .ifr_name = "lo" };
    /* Any socket works for these requests. */
    int fd = must(socket(AF_UNIX, SOCK_DGRAM, 0));
    if (ioctl(fd, SIOCGIFFLAGS, &request) == 0 && request.ifr_flags & IFF_UP)
        escaped("lo is up");
    request.ifr_flags = IFF_UP;
    refused_or("up", ioctl(fd, SIOCSIFFLAGS, &request), ENOTTY);
    struct { struct nlmsghdr head; struct ifinfomsg body; } message = {
        { sizeof message, RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 1, 0 },
        { .ifi_index = 1, .ifi_flags = IFF_UP, .ifi_change = IFF_UP },
    };
    absent("a tunnel", open("/dev/net/tun", O_RDWR));
    int netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    if (netlink < 0 && errno == EAFNOSUPPORT)
        return;
    must(send(netlink, &message, sizeof message, 0));
    struct { struct nlmsghdr head; struct nlmsgerr body; char rest[512]; } answer;
    must(recv(netlink, &answer, sizeof answer, 0));
    if (answer.head.nlmsg_type != NLMSG_ERROR || answer.body.error != -EPERM)
        escaped("netlink answers %d", answer.body.error);
}

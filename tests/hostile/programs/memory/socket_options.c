/* ---
class = "memory"
attempts = """\
attach filters to sockets and keys to connections, enlarge buffers, reserve flow labels, and \
patch kernel code: memory that is charged to no cgroup, and resources that the whole host shares"""
must = "setsockopt returns EPERM or ENOPROTOOPT, and the buffers keep their size"
held_by = "seccomp"
with = ["loopback"]
control = "seccomp"

[[except]]
when = ["none"]
expect = "escaped"
exception = "without a profile, all options are available"
--- */
#include "hostile.h"
#include <linux/filter.h>

static void attack(void)
{
    struct sock_filter all[] = { { BPF_RET | BPF_K, 0, 0, 0xffff } };
    struct sock_fprog filter = { 1, all };
    int pair[2], size, before, large = 1 << 20;
    socklen_t length = sizeof size;
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    refused("SO_ATTACH_FILTER", setsockopt(pair[0], SOL_SOCKET, 26, &filter, sizeof filter));
    int tcp = must(socket(AF_INET, SOCK_STREAM, 0)), udp = must(socket(AF_INET6, SOCK_DGRAM, 0));
    char nothing[256] = { 0 };
    refused("TCP_MD5SIG", setsockopt(tcp, 6, 14, nothing, sizeof nothing));
    refused("TCP_MD5SIG_EXT", setsockopt(tcp, 6, 32, nothing, sizeof nothing));
    refused("TCP_AO_ADD_KEY", setsockopt(tcp, 6, 38, nothing, sizeof nothing));
    refused("IPV6_FLOWLABEL_MGR", setsockopt(udp, 41, 32, nothing, sizeof nothing));
    int on = 1;
    refused_or("UDP_GRO", setsockopt(udp, 17, 104, &on, sizeof on), ENOPROTOOPT);
    refused_or("UDP_ENCAP", setsockopt(udp, 17, 100, &on, sizeof on), ENOPROTOOPT);
    refused_or("SO_TIMESTAMP", setsockopt(udp, SOL_SOCKET, SO_TIMESTAMP, &on, sizeof on),
        ENOPROTOOPT);
    /* These options modify the code of the kernel until the host restarts. */
    refused_or("TCP_TX_DELAY", setsockopt(tcp, 6, 37, &on, sizeof on), ENOPROTOOPT);
    refused_or("IP_MINTTL", setsockopt(tcp, 0, 21, &on, sizeof on), ENOPROTOOPT);
    refused_or("IPV6_MINHOPCOUNT", setsockopt(udp, 41, 73, &on, sizeof on), ENOPROTOOPT);
    const int sizes[] = { SO_RCVBUF, SO_SNDBUF }, sockets[] = { tcp, udp, pair[0] };
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++) {
            must(getsockopt(sockets[j], SOL_SOCKET, sizes[i], &before, &length));
            must(setsockopt(sockets[j], SOL_SOCKET, sizes[i], &large, sizeof large));
            must(getsockopt(sockets[j], SOL_SOCKET, sizes[i], &size, &length));
            if (size > before)
                escaped("option %d of socket %d: %d, then %d", sizes[i], j, before, size);
        }
    /* Programs need these options. */
    int yes = 1;
    must(setsockopt(tcp, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes));
    must(setsockopt(tcp, 6, 1 /* TCP_NODELAY */, &yes, sizeof yes));
}

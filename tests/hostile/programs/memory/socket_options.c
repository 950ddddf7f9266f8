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
    must(getsockopt(udp, SOL_SOCKET, SO_RCVBUF, &before, &length));
    must(setsockopt(udp, SOL_SOCKET, SO_RCVBUF, &large, sizeof large));
    must(getsockopt(udp, SOL_SOCKET, SO_RCVBUF, &size, &length));
    if (size > before)
        escaped("SO_RCVBUF: %d, then %d", before, size);
    /* Programs need these options. */
    int yes = 1;
    must(setsockopt(tcp, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes));
    must(setsockopt(tcp, 6, 1 /* TCP_NODELAY */, &yes, sizeof yes));
}

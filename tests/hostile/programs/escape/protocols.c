/* ---
class = "escape"
attempts = """\
make the kernel load modules for rare protocols (SCTP, DCCP, L2TP, UDP-Lite, MPTCP), and start \
modprobe for invalid combinations of type and protocol"""
must = "no such socket can be created"
held_by = "seccomp"
with = ["loopback"]
control = "seccomp"

[[except]]
when = ["none"]
expect = "escaped or contained"
exception = "without a profile, all protocols of the host's kernel are available"
--- */
#include "hostile.h"

static void attack(void)
{
    static const struct { const char *name; int type, protocol; } all[] = {
        { "MPTCP", SOCK_STREAM, 262 }, { "UDP-Lite", SOCK_DGRAM, 136 },
        { "SCTP", SOCK_SEQPACKET, 132 }, { "DCCP", 6, 33 }, { "L2TP", SOCK_DGRAM, 115 },
        { "DCCP by its type", 6, 0 }, { "no type", 0, 0 }, { "RDM", SOCK_RDM, 0 },
        { "SEQPACKET", SOCK_SEQPACKET, 0 }, { "PACKET", SOCK_PACKET, 0 },
        { "a stream of UDP", SOCK_STREAM, IPPROTO_UDP },
        { "datagrams of TCP", SOCK_DGRAM, IPPROTO_TCP },
        { "DCCP with flags", 6 | SOCK_CLOEXEC | SOCK_NONBLOCK, 0 },
    };
    for (unsigned family = 0; family < 2; family++)
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
            if (socket(family ? AF_INET6 : AF_INET, all[i].type, all[i].protocol) >= 0)
                escaped("%s", all[i].name);
            else if (errno != EPROTONOSUPPORT)
                escaped("%s: the request reaches the kernel: errno %d", all[i].name, errno);
    int tcp = must(socket(AF_INET, SOCK_STREAM, IPPROTO_TCP));
    must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    must(socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP));
    must(socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0));
    static const char *const upper[] = { "tls", "smc", "espintcp", "mptcp" };
    for (unsigned i = 0; i < sizeof upper / sizeof *upper; i++)
        refused_or(upper[i], setsockopt(tcp, IPPROTO_TCP, 31 /* TCP_ULP */, upper[i],
            strlen(upper[i])), ENOENT);
    /* The kernel returns EINVAL for an empty name. */
    if (setsockopt(tcp, IPPROTO_TCP, 31, "tls", 0) == 0 || errno != ENOENT)
        escaped("TCP_ULP: the request reaches the kernel: errno %d", errno);
}

/* ---
class = "escape"
tries = "have the kernel load modules for protocols that nobody needs: SCTP, DCCP, L2TP, UDP-Lite, MPTCP"
must = "the sockets are not there"
held_by = "seccomp"
with = ["loopback"]
but = [
  { when = ["none"], expect = "escaped or contained", exception = "without a profile the kernel's protocols are what the host has" },
]
control = "seccomp"
--- */
#include "hostile.h"
#include <netinet/in.h>

static void attack(void)
{
    static const struct { const char *name; int type, protocol; } all[] = {
        { "MPTCP", SOCK_STREAM, 262 }, { "UDP-Lite", SOCK_DGRAM, 136 }, { "SCTP", SOCK_SEQPACKET, 132 },
        { "DCCP", 6, 33 }, { "L2TP", SOCK_DGRAM, 115 },
    };
    for (unsigned family = 0; family < 2; family++)
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
            if (socket(family ? AF_INET6 : AF_INET, all[i].type, all[i].protocol) >= 0)
                escaped("%s", all[i].name);
            else if (errno != EPROTONOSUPPORT)
                broken("%s: this is no refusal", all[i].name);
    must(socket(AF_INET, SOCK_STREAM, IPPROTO_TCP));
    must(socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP));
}

/* ---
class = "network"
attempts = "create raw and packet sockets, as user 0 inside the world"
must = "the calls are refused"
held_by = "seccomp; no capabilities"
with = ["root", "loopback"]
--- */
#include "hostile.h"

static void attack(void)
{
    refused_or("raw ICMP", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), EPROTONOSUPPORT);
    refused_or("raw UDP", socket(AF_INET, SOCK_RAW, IPPROTO_UDP), EPROTONOSUPPORT);
    refused_or("raw IPv6", socket(AF_INET6, SOCK_RAW, 58), EPROTONOSUPPORT);
    refused_or("packet", socket(AF_PACKET, SOCK_RAW, 0), EAFNOSUPPORT);
    refused_or("ping", socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP), EPROTONOSUPPORT);
}

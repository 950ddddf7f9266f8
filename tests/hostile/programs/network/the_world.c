/* ---
class = "network"
attempts = "send data to other machines: TCP, UDP, IPv6, multicast, broadcast"
must = "no such socket can be created; without seccomp, the network is unreachable"
held_by = "a network namespace without interfaces; seccomp"
with = ["root"]
--- */
#include "hostile.h"
#include <arpa/inet.h>

static void attack(void)
{
    static const char *const addresses[] =
        { "192.0.2.1", "10.0.0.1", "169.254.169.254", "224.0.0.1", "255.255.255.255", "127.0.0.2" };
    int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) {
        refused_or("IPv4", fd, EAFNOSUPPORT);
        return refused_or("IPv6", socket(AF_INET6, SOCK_STREAM, 0), EAFNOSUPPORT);
    }
    for (int i = 0; i < 6; i++) {
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(53) };
        must(inet_pton(AF_INET, addresses[i], &address.sin_addr));
        int tcp = must(socket(AF_INET, SOCK_STREAM, 0)), udp = must(socket(AF_INET, SOCK_DGRAM, 0));
        setsockopt(udp, SOL_SOCKET, SO_BROADCAST, &on, sizeof on);
        refused_or("TCP", connect(tcp, (struct sockaddr *)&address, sizeof address), ENETUNREACH);
        refused_or("UDP", sendto(udp, "x", 1, 0, (struct sockaddr *)&address, sizeof address),
            ENETUNREACH);
    }
    struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons(53) };
    must(inet_pton(AF_INET6, "2001:db8::1", &address.sin6_addr));
    fd = socket(AF_INET6, SOCK_DGRAM, 0);
    if (fd >= 0)
        if (sendto(fd, "x", 1, 0, (struct sockaddr *)&address, sizeof address) >= 0)
            escaped("IPv6");
}

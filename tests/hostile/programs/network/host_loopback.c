/* ---
class = "network"
tries = "connect to somebody who listens on 127.0.0.1 of the host"
must = "there are no such sockets; without seccomp, the network is unreachable"
held_by = "network namespace; seccomp"
control = "bare"
--- */
#include "hostile.h"
#include <netinet/in.h>

static void attack(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(host_port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        return refused_or("a socket", fd, EAFNOSUPPORT);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        escaped("connected");
    if (errno != ENETUNREACH)
        broken("connect");
}

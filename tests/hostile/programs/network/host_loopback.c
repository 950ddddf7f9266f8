/* ---
class = "network"
attempts = "connect to a listener on 127.0.0.1 of the host"
must = "no such socket can be created; without seccomp, the network is unreachable"
held_by = "network namespace; seccomp"
control = "bare"
--- */
#include "hostile.h"

static void attack(void)
{
    struct sockaddr_in address = loopback(host_port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        return refused_or("a socket", fd, EAFNOSUPPORT);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        escaped("connected");
    if (errno != ENETUNREACH)
        broken("connect");
}

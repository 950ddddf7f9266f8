/* ---
class = "network"
tries = "connect to somebody who listens on 127.0.0.1 of the host"
must = "the network is unreachable"
held_by = "network namespace"
control = "bare"
--- */
#include "hostile.h"
#include <netinet/in.h>

static void attack(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(host_port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    if (connect(must(socket(AF_INET, SOCK_STREAM, 0)), (struct sockaddr *)&address, sizeof address) == 0)
        escaped("connected");
    if (errno != ENETUNREACH)
        broken("connect");
}

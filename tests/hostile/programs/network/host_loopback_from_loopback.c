/* ---
class = "network"
attempts = "connect to a listener on 127.0.0.1 of the host, with a loopback interface in the world"
must = "the connection is refused, because the loopback interface is a different one"
held_by = "network namespace"
with = ["loopback"]
control = "bare"
--- */
#include "hostile.h"

static void attack(void)
{
    struct sockaddr_in address = loopback(host_port);
    if (connect(must(socket(AF_INET, SOCK_STREAM, 0)), (struct sockaddr *)&address,
        sizeof address) == 0)
        escaped("connected");
    if (errno != ECONNREFUSED)
        broken("connect");
}

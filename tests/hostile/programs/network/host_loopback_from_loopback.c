/* ---
class = "network"
attempts = "the same with a loopback interface of its own"
must = "the connection is refused: it is another loopback"
held_by = "network namespace"
with = ["loopback"]
control = "bare"
--- */
#include "hostile.h"

static void attack(void)
{
    struct sockaddr_in address = loopback(host_port);
    if (connect(must(socket(AF_INET, SOCK_STREAM, 0)), (struct sockaddr *)&address, sizeof address) == 0)
        escaped("connected");
    if (errno != ECONNREFUSED)
        broken("connect");
}

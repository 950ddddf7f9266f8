/* ---
class = "network"
tries = "the same with a loopback interface of its own"
must = "the connection is refused: it is another loopback"
held_by = "network namespace"
with = ["loopback"]
control = "bare"
--- */
#include "hostile.h"
#include <netinet/in.h>

static void attack(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(host_port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    if (connect(must(socket(AF_INET, SOCK_STREAM, 0)), (struct sockaddr *)&address, sizeof address) == 0)
        escaped("connected");
    if (errno != ECONNREFUSED)
        broken("connect");
}

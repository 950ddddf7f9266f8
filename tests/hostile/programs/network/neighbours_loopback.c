/* ---
class = "network"
attempts = "connect to a concurrent run that listens on its own loopback"
must = "the connection is refused"
held_by = "a network namespace for each run with loopback"
with = ["loopback"]
pair = "beside"
control = "together"
--- */
#define PAIR
#include "hostile.h"

static struct sockaddr_in address;

static void plant(void)
{
    address = loopback(7777);
    int fd = must(socket(AF_INET, SOCK_STREAM, 0));
    must(bind(fd, (struct sockaddr *)&address, sizeof address));
    must(listen(fd, 5));
    stay();
}

static void look(void)
{
    address = loopback(7777);
    if (connect(must(socket(AF_INET, SOCK_STREAM, 0)), (struct sockaddr *)&address,
        sizeof address) == 0)
        escaped("connected");
    if (errno != ECONNREFUSED)
        broken("connect");
}

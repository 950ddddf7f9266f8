/* ---
class = "memory"
attempts = "make TCP connections that nobody accepts, and fill their buffers: the kernel charges them to nobody"
must = "the memory limit ends it, or what they hold is below it"
held_by = "the supervisor, who counts the connections of a run that has a loopback interface; small buffers"
with = ["loopback"]
limits = { memory = "32M", cpu = "20s", real = "40s" }
uncharged = true
expect = "memory_limit"
except = [
  { when = ["rlimit"], expect = "escaped", exception = "RLIMIT_AS does not count the kernel's memory; tcp_mem bounds all connections of the host together" },
]
--- */
#include "hostile.h"

/* Of a connection: struct tcp_sock, and what has been sent to it. */
enum { EACH = 2300, SENT = 12000 };

static void attack(void)
{
    static char block[SENT];
    long connections = 0, sent = 0;
    for (int i = 0; i < 60; i++) {
        struct sockaddr_in address;
        tcp_listener(&address, 65535);
        for (int j = 0; j < 4000; j++) {
            int client = tcp_client(&address);
            if (client < 0)
                break; /* the queue is full */
            connections++;
            ssize_t took = write(client, block, sizeof block);
            sent += took > 0 ? took : 0;
            close(client);
            if (connections * EACH + sent >= 160 * MIB)
                escaped("%ld connections with %ld MiB that nobody has accepted", connections, sent / MIB);
        }
    }
}

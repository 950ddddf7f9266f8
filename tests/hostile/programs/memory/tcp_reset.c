/* ---
class = "memory"
attempts = """\
fill unaccepted TCP connections and reset them: their data remains, but the protocol no longer \
lists the sockets"""
must = "the memory limit ends the run, or the memory stays below the limit"
held_by = "the supervisor counts all sockets of a run with a loopback interface"
with = ["loopback"]
limits = { memory = "32M", cpu = "20s", real = "40s" }
uncharged = true
expect = "memory_limit"
--- */
#include "hostile.h"

enum { SENT = 12000 };

static void attack(void)
{
    static char block[SENT];
    long connections = 0, sent = 0;
    for (int i = 0; i < 12; i++) {
        struct sockaddr_in address;
        tcp_listener(&address, 65535);
        for (int j = 0; j < 4000; j++) {
            int client = tcp_client(&address);
            if (client < 0)
                break; /* The queue is full. */
            ssize_t took = write(client, block, sizeof block);
            sent += took > 0 ? took : 0;
            connections++;
            struct linger reset = { 1, 0 };
            must(setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof reset));
            close(client);
            if (sent >= 160 * MIB)
                escaped("%ld connections with %ld MiB that were reset", connections, sent / MIB);
        }
    }
    until_seen();
    if (sent >= 64 * MIB)
        escaped("%ld connections with %ld MiB that were reset", connections, sent / MIB);
}

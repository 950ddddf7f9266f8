/* ---
class = "memory"
attempts = """\
create unaccepted TCP connections and fill their buffers, which the kernel charges to no cgroup"""
must = "the memory limit ends the run, or the memory stays below the limit"
held_by = """\
the supervisor counts the TCP connections of a run with a loopback interface; small buffers"""
with = ["loopback"]
limits = { memory = "32M", cpu = "20s", real = "40s" }
uncharged = true
expect = "memory_limit"
--- */
#include "hostile.h"

/* The memory of one connection: struct tcp_sock, and the data sent to it. */
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
                break; /* The queue is full. */
            connections++;
            ssize_t took = write(client, block, sizeof block);
            sent += took > 0 ? took : 0;
            close(client);
            if (connections * EACH + sent >= 160 * MIB)
                escaped("%ld unaccepted connections with %ld MiB", connections,
                    sent / MIB);
        }
    }
}

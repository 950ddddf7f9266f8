/* ---
class = "memory"
attempts = "fill the receive buffers of UDP sockets and never read them"
must = "the memory limit ends the run, or the memory stays below the limit"
held_by = "memory cgroup; size of a socket's buffer; RLIMIT_NOFILE"
with = ["loopback"]
limits = { memory = "32M" }
uncharged = true
expect = "memory_limit or contained"

[[except]]
when = ["rlimit"]
expect = "escaped or contained"
exception = """\
RLIMIT_AS does not count kernel memory; udp_mem bounds all UDP sockets of the host together"""

[[except]]
when = ["cgroup2"]
expect = "memory_limit or contained"
exception = """\
the kernel accepts data that arrives at a socket even above the limit; the supervisor ends the run \
a few milliseconds later, when the kernel reports it"""
--- */
#include "hostile.h"

static void attack(void)
{
    static char block[60000];
    long filled = 0;
    int client = must(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0));
    for (int i = 0; i < 110 && filled < 80 * MIB; i++) {
        struct sockaddr_in address = loopback(0);
        socklen_t length = sizeof address;
        int size = 64 << 20, server = socket(AF_INET, SOCK_DGRAM, 0);
        if (server < 0)
            return;
        setsockopt(server, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
        must(bind(server, (struct sockaddr *)&address, sizeof address));
        must(getsockname(server, (struct sockaddr *)&address, &length));
        for (int j = 0; j < 64; j++)
            sendto(client, block, sizeof block, 0, (struct sockaddr *)&address, sizeof address);
        socklen_t word = sizeof(uint32_t[16]);
        uint32_t info[16] = { 0 };
        if (getsockopt(server, SOL_SOCKET, SO_MEMINFO, info, &word) == 0)
            filled += info[0];
    }
    if (filled >= 80 * MIB)
        escaped("%ld MiB in sockets", filled / MIB);
}

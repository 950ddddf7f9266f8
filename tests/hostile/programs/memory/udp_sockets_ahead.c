/* ---
class = "memory"
attempts = "fill the buffers of UDP sockets that were all created before the first was filled"
must = "the memory limit ends the run, or the memory stays below the limit"
held_by = """\
memory cgroup; on version 2, the supervisor ends a run whose memory is above its limit; size of a \
socket's buffer; RLIMIT_NOFILE"""
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

/* The supervisor counts 272 KiB for each socket. This number of sockets is too small to make it end
 * the run. */
enum { SOCKETS = 110 };

/* The kernel charges an arriving packet without checking the limit, because it cannot wait at
 * that point. The next allocation for the process checks the limit, so the program avoids
 * allocations. */
static void attack(void)
{
    static char block[60000];
    static struct sockaddr_in addresses[SOCKETS];
    static int servers[SOCKETS];
    long filled = 0;
    int count = 0, client = must(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0));
    memset(block, 1, sizeof block);
    for (; count < SOCKETS; count++) {
        struct sockaddr_in address = loopback(0);
        socklen_t length = sizeof address;
        int size = 64 << 20, server = socket(AF_INET, SOCK_DGRAM, 0);
        if (server < 0)
            break;
        setsockopt(server, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
        must(bind(server, (struct sockaddr *)&address, sizeof address));
        must(getsockname(server, (struct sockaddr *)&address, &length));
        addresses[count] = address;
        servers[count] = server;
    }
    for (int i = 0; i < count && filled < 160 * MIB; i++) {
        for (int j = 0; j < 64; j++)
            sendto(client, block, sizeof block, 0, (struct sockaddr *)&addresses[i],
                sizeof addresses[i]);
        socklen_t word = sizeof(uint32_t[16]);
        uint32_t info[16] = { 0 };
        if (getsockopt(servers[i], SOL_SOCKET, SO_MEMINFO, info, &word) == 0)
            filled += info[0];
    }
    printf("filled %ld MiB in %d sockets\n", filled / MIB, count);
    if (filled < 80 * MIB)
        return;
    until_seen();
    escaped("%ld MiB in sockets", filled / MIB);
}

/* ---
class = "memory"
attempts = "fill the buffers of UDP sockets that were all made before the first was filled"
must = "the memory limit ends it, or what they hold is below it"
held_by = "memory cgroup; on version 2 the supervisor, who ends a run whose memory is above its limit; size of a socket's buffer; RLIMIT_NOFILE"
with = ["loopback"]
limits = { memory = "32M" }
uncharged = true
expect = "memory_limit or contained"
except = [
  { when = ["rlimit"], expect = "escaped or contained", exception = "RLIMIT_AS does not count the kernel's memory; udp_mem bounds all sockets of the host together" },
  { when = ["cgroup2"], expect = "memory_limit or contained", exception = "the kernel takes what has arrived at a socket though it is above the limit; the supervisor ends the run when it is told, some milliseconds later" },
]
--- */
#include "hostile.h"

/* Fewer than the supervisor would end it for, which takes each for 272 KiB. */
enum { SOCKETS = 110 };

/* Memory is charged without asking the limit when a packet has arrived, since nobody can wait then. What does ask is the
 * next allocation in the process's name: so there is to be none. */
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
            sendto(client, block, sizeof block, 0, (struct sockaddr *)&addresses[i], sizeof addresses[i]);
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

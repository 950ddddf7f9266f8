/* ---
class = "memory"
attempts = """\
fill the buffers of TCP connections to itself, whose memory all connections of the host share"""
must = "the memory limit ends the run, or the memory stays below the limit"
held_by = """\
memory cgroup; small buffers; the supervisor compares the TCP memory of the host with the limit"""
with = ["loopback"]
limits = { memory = "32M" }
uncharged = true
expect = "memory_limit or contained"

[[except]]
when = ["rlimit", "none"]
expect = "memory_limit or contained or escaped"
exception = """\
without a profile, a program can enlarge buffers beyond the size that the supervisor assumes"""

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
    static char block[256 << 10];
    long filled = 0;
    struct sockaddr_in address;
    int server = tcp_listener(&address, 100);
    for (int i = 0; i < 400 && filled < 80 * MIB; i++) {
        int client = must(socket(AF_INET, SOCK_STREAM, 0)), size = 8 << 20;
        setsockopt(client, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
        must(connect(client, (struct sockaddr *)&address, sizeof address));
        must(accept(server, NULL, NULL));
        must(fcntl(client, F_SETFL, O_NONBLOCK));
        for (long got; (got = write(client, block, sizeof block)) > 0;)
            filled += got;
    }
    if (filled >= 80 * MIB)
        escaped("%ld MiB in connections", filled / MIB);
}

/* ---
class = "memory"
attempts = """\
start datagrams and never send them, so that UDP sockets hold memory that the kernel charges to \
no cgroup"""
must = "the memory limit ends the run, or the memory stays below the limit"
held_by = "the supervisor counts the sockets of a run with a loopback interface"
with = ["loopback"]
limits = { memory = "32M" }
uncharged = true
expect = "memory_limit or contained"

[[except]]
when = ["rlimit"]
expect = "escaped or contained"
exception = "RLIMIT_AS does not count kernel memory"
--- */
#include "hostile.h"

static void attack(void)
{
    static char begin[60000];
    long held = 0;
    all_descriptors();
    while (held < 64 * MIB) {
        struct sockaddr_in address = loopback(9);
        int fd = socket(AF_INET, SOCK_DGRAM, 0);
        if (fd < 0)
            break;
        held += must(sendto(fd, begin, sizeof begin, MSG_MORE, (struct sockaddr *)&address,
            sizeof address));
    }
    until_seen();
    if (held >= 64 * MIB)
        escaped("%ld MiB in datagrams", held / MIB);
}

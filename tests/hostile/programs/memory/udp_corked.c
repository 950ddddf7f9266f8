/* ---
class = "memory"
attempts = "begin datagrams and never send them: what UDP sockets so hold is charged to nobody"
must = "the memory limit ends it, or what they hold is below it"
held_by = "the supervisor, who counts the sockets of a run that has a loopback interface"
with = ["loopback"]
limits = { memory = "32M" }
uncharged = true
expect = "memory_limit or contained"
except = [
  { when = ["rlimit"], expect = "escaped or contained", exception = "RLIMIT_AS does not count the kernel's memory" },
]
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
        held += must(sendto(fd, begin, sizeof begin, MSG_MORE, (struct sockaddr *)&address, sizeof address));
    }
    until_seen();
    if (held >= 64 * MIB)
        escaped("%ld MiB in datagrams", held / MIB);
}

/* ---
class = "memory"
tries = "begin datagrams and never send them: what UDP sockets so hold is charged to nobody"
must = "the memory limit ends it, or what they hold is below it"
held_by = "the supervisor, who counts the sockets of a run that has a loopback interface"
with = ["loopback"]
limits = { memory = "32M" }
uncharged = true
expect = "memory_limit"
but = [
  { when = ["rlimit"], expect = "escaped", exception = "RLIMIT_AS does not count the kernel's memory" },
]
--- */
#include "hostile.h"
#include <netinet/in.h>

static void attack(void)
{
    static char begin[60000];
    long held = 0;
    struct rlimit most = { 4096, 4096 };
    must(setrlimit(RLIMIT_NOFILE, &most));
    while (held < 160 * MIB) {
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        int fd = must(socket(AF_INET, SOCK_DGRAM, 0));
        held += must(sendto(fd, begin, sizeof begin, MSG_MORE, (struct sockaddr *)&address, sizeof address));
    }
    usleep(200 * 1000); /* the supervisor looks every 10 ms */
    escaped("%ld MiB in datagrams", held / MIB);
}

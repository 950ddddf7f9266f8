/* ---
class = "leaks"
attempts = """\
leave state in the network namespace for the next run: a lingering flow label, counters of \
unreachable addresses"""
must = "no socket that leaves such state can be created"
held_by = "seccomp; a network namespace for each run with loopback"
with = ["proc"]
pair = "after"
profiles = ["default", "separate"]
control = "seccomp"
--- */
#define PAIR
#include "hostile.h"
#include <arpa/inet.h>
#include <linux/in6.h>

/* A number of this test, so that the state of an earlier test does not match. */
static int mark(void)
{
    unsigned number = 5381;
    for (const char *at = token; *at; at++)
        number = number * 33 + *at;
    return 1 + number % 50000;
}

static int label(int flags)
{
    struct in6_flowlabel_req request = { .flr_label = htonl(mark()), .flr_action = IPV6_FL_A_GET,
        .flr_share = IPV6_FL_S_ANY, .flr_flags = flags, .flr_expires = 60, .flr_linger = 60 };
    must(inet_pton(AF_INET6, "2001:db8::1", &request.flr_dst));
    int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    return fd < 0 ? fd : setsockopt(fd, IPPROTO_IPV6, IPV6_FLOWLABEL_MGR, &request, sizeof request);
}

static long unreachable(void)
{
    static char text[20000];
    must(file_read("/proc/self/net/snmp", text, sizeof text));
    char *line = strstr(text, "\nIp: ");
    long number;
    if (!line || sscanf(line, "\nIp: %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %ld",
        &number) != 1)
        broken("no such counter");
    return number;
}

static void plant(void)
{
    label(IPV6_FL_F_CREATE);
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(53),
        .sin_addr.s_addr = htonl(0xc0000201) };
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    for (long left = (mark() - unreachable() % 50001 + 50001) % 50001; left > 0; left--)
        connect(fd, (struct sockaddr *)&address, sizeof address);
}

static void look(void)
{
    if (label(0) == 0)
        escaped("the label exists");
    if (unreachable() % 50001 == mark())
        escaped("the number of unreachable addresses is the planted one");
}

/* ---
class = "leaks"
attempts = "count the sockets of a concurrent run with /proc/self/net/sockstat"
must = "the file counts only the sockets of the run"
held_by = "nothing: the kernel counts some figures in this file for the whole host"
with = ["proc", "loopback"]
limits = { memory = "128M" }
pair = "beside"

[[except]]
when = []
expect = "escaped"
exception = """\
the kernel shows the numbers of the host in every network namespace, and the file is below the \
process's own directory, where no mount can cover it; leave /proc out of the world if this \
matters"""
--- */
#define PAIR
#include "hostile.h"

enum { PLANTED = 100 };

static void plant(void)
{
    for (int i = 0; i < PLANTED; i++)
        must(socket(AF_INET, SOCK_STREAM, 0));
    stay();
}

static void look(void)
{
    char text[2000];
    must(file_read("/proc/self/net/sockstat", text, sizeof text));
    char *line = strstr(text, "\nTCP: ");
    long in_use, allocated;
    if (!line || sscanf(line, "\nTCP: inuse %ld orphan %*d tw %*d alloc %ld", &in_use,
        &allocated) != 2)
        broken("no such line");
    if (in_use != 0)
        broken("this run has a socket");
    if (allocated >= PLANTED)
        escaped("%ld sockets of other runs", allocated);
}

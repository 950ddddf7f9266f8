/* ---
class = "network"
attempts = """\
listen on privileged ports and change the range of such ports, as user 0 inside the world with a \
loopback interface"""
must = "the effects stay in its own network namespace"
held_by = "network namespace; read-only procfs"
with = ["root", "loopback", "proc"]
--- */
#include "hostile.h"

static void attack(void)
{
    struct sockaddr_in address = loopback(22);
    refused("port 22", bind(must(socket(AF_INET, SOCK_STREAM, 0)), (struct sockaddr *)&address,
        sizeof address));
    absent("the bound", open("/proc/sys/net/ipv4/ip_unprivileged_port_start", O_WRONLY));
    absent("the bound", open("/proc/sys/net/ipv4/ping_group_range", O_WRONLY));
}

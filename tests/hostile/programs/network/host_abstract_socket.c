/* ---
class = "network"
attempts = "connect to an abstract socket of the host"
must = "no process listens on it"
held_by = "network namespace"
repeats = ["CVE-2020-15257 (containerd)"]
control = "bare"
--- */
#include "hostile.h"
#include <stddef.h>

static void attack(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    strncpy(address.sun_path + 1, host_socket, sizeof address.sun_path - 2);
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(host_socket);
    if (connect(must(socket(AF_UNIX, SOCK_STREAM, 0)), (struct sockaddr *)&address, length) == 0)
        escaped("connected");
    if (errno != ECONNREFUSED)
        broken("connect");
}

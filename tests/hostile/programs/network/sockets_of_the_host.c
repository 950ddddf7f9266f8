/* ---
class = "network"
attempts = "connect to sockets in the host's file system: Docker, system bus, journal, systemd"
must = "the sockets do not exist"
held_by = "mount namespace"
--- */
#include "hostile.h"

static void attack(void)
{
    static const char *const paths[] =
        { "/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket",
        "/run/systemd/private", "/run/systemd/journal/socket", "/dev/log",
        "/run/containerd/containerd.sock" };
    for (int i = 0; i < 7; i++) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        strncpy(address.sun_path, paths[i], sizeof address.sun_path - 1);
        absent(paths[i], connect(must(socket(AF_UNIX, SOCK_STREAM, 0)), (struct sockaddr *)&address,
            sizeof address));
    }
}

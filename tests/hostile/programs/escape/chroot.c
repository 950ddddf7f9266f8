/* ---
class = "escape"
attempts = "leave the root with chroot and pivot_root, as in an escape from a chroot jail"
must = "both calls are refused, and `..` of the root is the root"
held_by = "seccomp; no capabilities; the world is the root of the mount namespace"
with = ["root", "proc"]
--- */
#include "hostile.h"

static void attack(void)
{
    struct stat root, above;
    must(mkdir("/tmp/jail", 0700));
    int fd = must(open("/", O_RDONLY | O_DIRECTORY));
    refused("chroot", chroot("/tmp/jail"));
    refused("pivot_root", syscall(SYS_pivot_root, "/tmp", "/tmp/jail"));
    must(stat("/", &root));
    must(fchdir(fd));
    for (int i = 0; i < 100; i++)
        must(chdir(".."));
    must(stat(".", &above));
    if (above.st_ino != root.st_ino || above.st_dev != root.st_dev)
        escaped("above the root");
    if (stat("/proc/1/root/../..", &above) < 0)
        refused("pid1's root", -1);
    else if (above.st_ino != root.st_ino || above.st_dev != root.st_dev)
        escaped("above pid1's root");
}

/* ---
class = "escape"
attempts = "create device nodes: memory, disk, kernel log"
must = "mknod returns EPERM"
held_by = "no capabilities in the initial user namespace; nodev"
with = ["box", "root"]
--- */
#include "hostile.h"
#include <sys/sysmacros.h>

static void attack(void)
{
    static const int numbers[][2] =
        { { 1, 1 }, { 1, 5 }, { 1, 11 }, { 8, 0 }, { 254, 0 }, { 10, 200 }, { 5, 0 }, { 10, 229 } };
    for (int i = 0; i < 8; i++) {
        refused("character device", mknod("/tmp/device", S_IFCHR | 0666,
            makedev(numbers[i][0], numbers[i][1])));
        refused("block device", mknod("/tmp/device", S_IFBLK | 0666,
            makedev(numbers[i][0], numbers[i][1])));
        refused("in a bind", mknod("/box/device", S_IFCHR | 0666,
            makedev(numbers[i][0], numbers[i][1])));
    }
}

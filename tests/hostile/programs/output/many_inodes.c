/* ---
class = "output"
attempts = "create more files than the tmpfs has inodes: files, directories, links, fifos, sockets"
must = "the calls return ENOSPC"
held_by = "the inode limit of the tmpfs"
tmp_inodes = 50
--- */
#include "hostile.h"

static void attack(void)
{
    static const char target[] =
        "target-that-is-rather-long-so-that-it-does-not-fit-into-the-inode-itself-0123456789";
    int made = 0;
    for (int i = 0; i < 100; i++) {
        char path[20];
        snprintf(path, sizeof path, "/tmp/%d", i);
        made += (i % 4 == 0 ? mknod(path, S_IFREG | 0600, 0)
                 : i % 4 == 1 ? mkdir(path, 0700)
                 : i % 4 == 2 ? symlink(target, path)
                              : mkfifo(path, 0600)) == 0;
    }
    if (made != 49)
        escaped("%d files on a tmpfs of 50 inodes", made);
}

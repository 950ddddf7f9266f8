/* ---
class = "escape"
attempts = "open files of the host by handle and without a path"
must = "both calls are refused"
held_by = "seccomp; open_by_handle_at needs capabilities in the initial user namespace"
repeats = ["shocker (Docker, 2014)"]
with = ["shared", "root"]
--- */
#include "hostile.h"

static void attack(void)
{
    struct { struct file_handle head; unsigned char bytes[64]; } handle =
        { .head.handle_bytes = 64 };
    int mount = 0, fd = must(open("/shared/note", O_RDONLY));
    if (name_to_handle_at(AT_FDCWD, "/shared/note", &handle.head, &mount, 0) < 0) {
        refused_or("name_to_handle_at", -1, EOPNOTSUPP);
        /* On ext4, inode 2 is the root of the file system. */
        handle.head.handle_bytes = 8;
        handle.head.handle_type = 1;
        memset(handle.head.f_handle, 0, 8);
        handle.head.f_handle[0] = 2;
    }
    refused("open_by_handle_at", open_by_handle_at(fd, &handle.head, O_RDONLY));
}

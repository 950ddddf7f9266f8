/* ---
class = "escape"
attempts = "mount, unmount, bind and remount, with the old and the new calls"
must = "all calls are refused"
held_by = "seccomp; no capabilities"
repeats = ["CVE-2022-0185 (Linux, from containers)"]
with = ["root", "shared"]
--- */
#include "hostile.h"

static void attack(void)
{
    refused("tmpfs", mount("none", "/tmp", "tmpfs", 0, NULL));
    refused("bind", mount("/usr", "/tmp", NULL, MS_BIND, NULL));
    refused("remount", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
    refused("propagation", mount(NULL, "/", NULL, MS_SHARED | MS_REC, NULL));
    refused("umount", umount2("/shared", MNT_DETACH));
    refused("overlay", mount("overlay", "/tmp", "overlay", 0,
        "lowerdir=/usr,upperdir=/tmp,workdir=/tmp"));
    refused("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
    refused("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/shared", 1 /* OPEN_TREE_CLONE */));
    refused("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0));
    uint64_t attributes[4] = { 0, 1 /* MOUNT_ATTR_RDONLY */, 0, 0 };
    refused("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, "/shared", 0, attributes,
        sizeof attributes));
    refused("move_mount", syscall(SYS_move_mount, AT_FDCWD, "/shared", AT_FDCWD, "/tmp", 0));
}

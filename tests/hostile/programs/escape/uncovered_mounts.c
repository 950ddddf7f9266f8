/* ---
class = "escape"
attempts = "unmount, move and remount visible mounts, in new namespaces with all capabilities"
must = "all calls are refused, because the mounts are locked together"
held_by = "mount namespace whose user namespace is less privileged (mount_namespaces(7))"
with = ["shared", "proc"]
profiles = ["none"]
--- */
#include "hostile.h"

static void attack(void)
{
    static const char *const places[] = { "/", "/usr", "/tmp", "/proc", "/shared", "/dev/null" };
    new_namespaces(CLONE_NEWNS | CLONE_NEWPID);
    for (int i = 0; i < 6; i++) {
        const char *place = places[i];
        refused_or("umount", umount2(place, MNT_DETACH), EINVAL);
        refused_or("remount", mount(NULL, place, NULL, MS_REMOUNT | MS_BIND, NULL),
            strcmp(place, "/tmp") == 0 ? EPERM : EINVAL);
        if (strcmp(place, "/dev/null") != 0)
            refused_or("move", mount(place, "/tmp", NULL, MS_MOVE, NULL), EINVAL);
    }
    /* A copy of a mount stays locked. */
    if (mount("/shared", "/tmp", NULL, MS_BIND, NULL) == 0) {
        refused_or("remount of a copy", mount(NULL, "/tmp", NULL, MS_REMOUNT | MS_BIND, NULL),
            EINVAL);
        int fd = open("/tmp/note", O_WRONLY);
        refused("writing through a copy", fd);
    }
    refused_or("writing", open("/shared/note", O_WRONLY), EROFS);
}

/* ---
class = "escape"
attempts = "become another user or group: every number in use, and supplementary groups"
must = "all calls are refused, because only one user and one group are mapped"
held_by = "user namespace; no capabilities"
--- */
#include "hostile.h"
#include <grp.h>

static void attack(void)
{
    static const unsigned ids[] = { 0, 1, 100, 1000, 60578, 61234, 65534, 0xfffffffe };
    uid_t us = getuid();
    gid_t our_group = getgid();
    for (int i = 0; i < 8; i++) {
        if (ids[i] != us)
            refused_or("setresuid", syscall(SYS_setresuid, ids[i], ids[i], ids[i]), EINVAL);
        if (ids[i] != our_group)
            refused_or("setresgid", syscall(SYS_setresgid, ids[i], ids[i], ids[i]), EINVAL);
        gid_t group = ids[i];
        refused_or("setgroups", syscall(SYS_setgroups, 1, &group), EINVAL);
    }
    refused("setgroups to none", syscall(SYS_setgroups, 0, NULL));
    syscall(SYS_setfsuid, 0);
    if (us != 0 && (uid_t)syscall(SYS_setfsuid, -1) == 0)
        escaped("file system user 0");
}

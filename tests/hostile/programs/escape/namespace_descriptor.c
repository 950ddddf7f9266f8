/* ---
class = "escape"
attempts = "enter the host's mount namespace through a descriptor that is its standard input"
must = "setns is refused"
held_by = "seccomp; no capabilities in the user namespace that owns the mount namespace"
with = ["namespace_stdin"]
--- */
#include "hostile.h"

static void attack(void)
{
    refused_or("setns", setns(0, 0), EINVAL);
    refused_or("setns to a mount namespace", setns(0, CLONE_NEWNS), EINVAL);
    /* Try again with capabilities in a new user namespace, if one can be created. */
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0)
        refused_or("setns with capabilities", setns(0, CLONE_NEWNS), EINVAL);
    /* An ioctl returns the owner of that namespace. */
    int owner = ioctl(0, 0xb701 /* NS_GET_USERNS */);
    if (owner >= 0)
        escaped("the parent user namespace");
}

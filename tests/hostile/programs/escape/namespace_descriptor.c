/* ---
class = "escape"
attempts = "enter the host's mount namespace through a descriptor that it was given as standard input"
must = "it is refused"
held_by = "seccomp; no capabilities in the namespace's owner"
with = ["namespace_stdin"]
--- */
#include "hostile.h"

static void attack(void)
{
    refused_or("setns", setns(0, 0), EINVAL);
    refused_or("setns to a mount namespace", setns(0, CLONE_NEWNS), EINVAL);
    /* With capabilities in a user namespace of its own, where that may be had. */
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0)
        refused_or("setns with capabilities", setns(0, CLONE_NEWNS), EINVAL);
    /* The owner of that namespace, by ioctl. */
    int owner = ioctl(0, 0xb701 /* NS_GET_USERNS */);
    if (owner >= 0)
        escaped("the user namespace above");
}

/* ---
class = "leaks"
attempts = "leave keys in the keyrings of the user and the session for the next run"
must = "the calls are refused; without the profile, the next run has other keyrings"
held_by = "seccomp; a user namespace for each run"
pair = "after"
profiles = ["default"]
control = "seccomp"
--- */
#define PAIR
#include "hostile.h"
#include <linux/keyctl.h>

static void plant(void)
{
    /* look() tries the same and reports the result. */
    syscall(SYS_add_key, "user", "left", "value", 5, KEY_SPEC_USER_KEYRING);
    syscall(SYS_add_key, "user", "left", "value", 5, KEY_SPEC_SESSION_KEYRING);
}

static void look(void)
{
    long key = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", "left", 0);
    if (key >= 0)
        escaped("a key of the user");
    if (syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "left", 0) >= 0)
        escaped("a key of the session");
    key = syscall(SYS_add_key, "user", "right", "value", 5, KEY_SPEC_PROCESS_KEYRING);
    refused("add_key", key);
    /* The limit in bytes applies to a user, and all runs have the same user outside. */
}

/* ---
class = "leaks"
attempts = """\
leave keys in the keyrings of the user and the session for the next run, without the profile that \
forbids it"""
must = "the next run does not find the keys"
held_by = "a user namespace for each run; the session keyring permits no access"
pair = "after"
profiles = ["none"]
control = "together"
--- */
#define PAIR
#include "hostile.h"
#include <linux/keyctl.h>

static void plant(void)
{
    syscall(SYS_add_key, "user", "left", "value", 5, KEY_SPEC_USER_KEYRING);
    syscall(SYS_add_key, "user", "left", "value", 5, KEY_SPEC_SESSION_KEYRING);
}

static void look(void)
{
    if (syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", "left", 0) >= 0)
        escaped("a key of the user");
    if (syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "left", 0) >= 0)
        escaped("a key of the session");
}

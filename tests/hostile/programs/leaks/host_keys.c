/* ---
class = "leaks"
attempts = "find the key in the client's session keyring, and keys of its user"
must = "no key is visible"
held_by = "seccomp; a separate session keyring of the supervisor; user namespace"
with = ["proc"]
control = "bare"

[[except]]
when = ["user"]
expect = "escaped"
exception = """\
/proc/keys shows names, but not values, of keys that belong to the run's user outside; \
`processes_only` hides them"""
--- */
#include "hostile.h"
#include <linux/keyctl.h>

static void attack(void)
{
    long key = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user",
        "millibox-hostile", 0);
    if (key >= 0)
        escaped("key %ld of the session", key);
    key = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", "millibox-hostile", 0);
    if (key >= 0)
        escaped("key %ld of the user", key);
    key = syscall(SYS_request_key, "user", "millibox-hostile", NULL, 0);
    if (key >= 0)
        escaped("key %ld by request", key);
    char text[4096] = "";
    file_read("/proc/keys", text, sizeof text);
    if (strstr(text, "millibox-hostile") != NULL)
        escaped("/proc/keys: %s", text);
}

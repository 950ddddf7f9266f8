/* ---
class = "escape"
attempts = """\
hold or gain capabilities: inherit them, raise ambient ones, call capset, unlock securebits, undo \
no_new_privs"""
must = "all capability sets are empty and stay empty"
held_by = "empty capability sets and bounding set; locked securebits; no_new_privs"
profiles = ["default", "none", "separate"]
with = ["root"]
--- */
#include "hostile.h"
#include <linux/capability.h>

static void attack(void)
{
    struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct sets[2] = { 0 };
    must(syscall(SYS_capget, &head, sets));
    if (sets[0].effective | sets[0].permitted | sets[0].inheritable | sets[1].effective
        | sets[1].permitted)
        escaped("capabilities %x", sets[0].permitted);
    for (int capability = 0; capability < 40; capability++) {
        struct __user_cap_data_struct more[2] = { 0 };
        more[capability / 32].effective = more[capability / 32].permitted = 1u << capability % 32;
        refused("capset", syscall(SYS_capset, &head, more));
        refused("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0));
        if (prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1)
            escaped("capability %d is in the bounding set", capability);
    }
    refused("securebits", prctl(PR_SET_SECUREBITS, 0, 0, 0, 0));
    refused_or("no_new_privs off", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0), EINVAL);
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        escaped("no_new_privs is off");
}

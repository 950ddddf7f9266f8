/* ---
class = "escape"
attempts = "execute a program of the world that has file capabilities"
must = "the program gains no capabilities"
held_by = "nosuid on every bind; no_new_privs; empty bounding set"
with = ["file_capabilities"]
control = "bare"
--- */
#include "hostile.h"
#include <linux/capability.h>

static void attack(void)
{
    char path[PATH_MAX];
    if (strcmp(role, "second") == 0) {
        struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct sets[2] = { 0 };
        must(syscall(SYS_capget, &head, sets));
        if (sets[0].effective | sets[0].permitted | sets[1].effective | sets[1].permitted)
            escaped("capabilities %x", sets[0].permitted);
        return;
    }
    own_arguments[1] = "second";
    execv("/shared/capable", own_arguments);
    snprintf(path, sizeof path, "%s/shared/capable", host_directory);
    execv(path, own_arguments);
    broken("execv");
}

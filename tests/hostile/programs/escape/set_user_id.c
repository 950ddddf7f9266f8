/* ---
class = "escape"
attempts = "execute a set-user-id program of root in the world"
must = "the program runs without a change of user"
held_by = "nosuid on every bind; no_new_privs; unmapped ids"
with = ["setuid", "proc"]
control = "bare"
--- */
#include "hostile.h"
#include <sys/auxv.h>

static void attack(void)
{
    char path[PATH_MAX];
    if (strcmp(role, "second") == 0) {
        if (geteuid() != getuid() || getegid() != getgid() || getauxval(AT_SECURE))
            escaped("effective user %d, group %d", geteuid(), getegid());
        return;
    }
    own_arguments[1] = "second";
    execv("/shared/setuid", own_arguments);
    /* Outside the sandbox, the file is in the directory that the test created. */
    snprintf(path, sizeof path, "%s/shared/setuid", host_directory);
    execv(path, own_arguments);
    broken("execv");
}

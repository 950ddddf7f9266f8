/* ---
class = "escape"
attempts = "execute a set-user-id program of root's that the world has"
must = "it runs without becoming anybody"
held_by = "nosuid on every bind; no_new_privs; ids that are not mapped"
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
    our_arguments[1] = "second";
    execv("/shared/setuid", our_arguments);
    /* As a plain process we find it where the test has put it. */
    snprintf(path, sizeof path, "%s/shared/setuid", host_directory);
    execv(path, our_arguments);
    broken("execv");
}

/* ---
class = "output"
attempts = "leave a set-user-id program of its user in a writable bind"
must = "the mode bit is the user's right: it is documented"
held_by = "the user that runs have, which owns nothing if root started the client"
with = ["box"]
expect = "escaped"
except = [{ when = [], expect = "escaped", exception = "in writable binds a run can do what its user can; whoever starts it unprivileged must not let others reach what is bound writable" }]
--- */
#include "hostile.h"

static void attack(void)
{
    int fd = must(open("/box/program", O_RDWR | O_CREAT, 0700));
    if (fchmod(fd, 06755) < 0)
        return;
    struct stat file;
    must(fstat(fd, &file));
    if ((file.st_mode & 07777) == 06755)
        escaped("a program with set-user-id");
}

/* ---
class = "output"
attempts = "leave a set-user-id program of its user in a writable bind"
must = "a user may set this mode bit; this exception is documented"
held_by = "the run's user, which owns no file if root started the client"
with = ["box"]
expect = "escaped"

[[except]]
when = []
expect = "escaped"
exception = """\
in writable binds, a run has the rights of its user; an unprivileged caller must not let other \
users reach a directory that is bound writable"""
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
        escaped("a set-user-id program");
}

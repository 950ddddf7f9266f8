/* ---
class = "leaks"
attempts = "send one bit to a neighbour with a lock on a file that both may read"
must = "locks belong to the file; this exception is documented"
held_by = "worlds that share no unnecessary files"
with = ["shared"]
pair = "beside"
expect = "escaped"

[[except]]
when = []
expect = "escaped"
exception = """\
runs that bind the same files share the inodes and the locks on them; build tools and databases \
need locks"""
--- */
#define PAIR
#include "hostile.h"
#include <sys/file.h>

static void plant(void)
{
    must(flock(must(open("/shared/note", O_RDONLY)), LOCK_EX));
    stay();
}

static void look(void)
{
    if (flock(must(open("/shared/note", O_RDONLY)), LOCK_EX | LOCK_NB) < 0)
        escaped("the neighbour holds the lock");
}

/* ---
class = "leaks"
attempts = "tell a neighbour one bit by a lock on a file that both may read"
must = "locks belong to the file: it is documented"
held_by = "worlds that do not share what they need not"
with = ["shared"]
pair = "beside"
expect = "escaped"
except = [{ when = [], expect = "escaped", exception = "runs that bind the same files share their inodes, and locks on them; build tools and databases cannot do without locks" }]
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
        escaped("somebody holds the lock");
}

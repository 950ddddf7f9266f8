/* ---
class = "output"
tries = "have the kernel write a core dump of itself: into a writable bind, or to the host's handler"
must = "no core is dumped"
held_by = "RLIMIT_CORE is 0"
with = ["box"]
--- */
#include "hostile.h"

static void crash(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY });
    abort();
}

static void attack(void)
{
    must(chdir("/box"));
    int status = child(crash);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
        broken("status %x", status);
    if (WCOREDUMP(status))
        escaped("a core was dumped");
}

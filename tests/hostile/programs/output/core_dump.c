/* ---
class = "output"
attempts = "have the kernel write a core dump of itself: into a writable bind, or to the host's handler"
must = "no core is dumped"
held_by = "RLIMIT_CORE is 1, which asks no handler, and stays"
with = ["box"]
--- */
#include "hostile.h"
#include <linux/seccomp.h>

static void crash(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY });
    // With 0 the kernel writes no core, but asks a handler (core(5)). Without a profile nobody can keep it from that.
    struct rlimit none = { 0, 1 }, now;
    setrlimit(RLIMIT_CORE, &none);
    must(prlimit(0, RLIMIT_CORE, &none, 0));
    must(getrlimit(RLIMIT_CORE, &now));
    if (now.rlim_cur != 1 && prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER)
        escaped("a handler would be asked");
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

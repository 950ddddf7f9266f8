/* ---
class = "output"
attempts = "make the kernel write a core dump into a writable bind or pass it to the host's handler"
must = "the kernel dumps no core"
held_by = "RLIMIT_CORE is fixed at 1, with which the kernel runs no handler"
with = ["box"]
--- */
#include "hostile.h"
#include <linux/seccomp.h>

static void crash(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY });
    /* With a limit of 0, the kernel writes no core but runs a handler (core(5)). Without a profile,
     * the program can set it to 0. */
    struct rlimit none = { 0, 1 }, now;
    setrlimit(RLIMIT_CORE, &none);
    must(prlimit(0, RLIMIT_CORE, &none, 0));
    must(getrlimit(RLIMIT_CORE, &now));
    if (now.rlim_cur != 1 && prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER)
        escaped("the kernel would run a handler");
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

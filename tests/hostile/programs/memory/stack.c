/* ---
class = "memory"
attempts = "grow the stack without end, its limit raised as far as that goes"
must = "the memory limit ends it, or the stack's own does"
held_by = "memory cgroup; RLIMIT_AS; RLIMIT_STACK"
expect = "memory_limit or contained"
with = ["program"]
--- */
#include "hostile.h"

static __attribute__((noinline)) long deeper(volatile char *above, int depth)
{
    volatile char page[4096];
    memset((char *)page, 1, sizeof page);
    return depth == 0 ? above[0] : deeper(page, depth - 1) + page[1];
}

static void recurse(void)
{
    volatile char first = 0;
    deeper(&first, 160 * 256);
    escaped("160 MiB of stack");
}

static void attack(void)
{
    struct rlimit limit;
    must(getrlimit(RLIMIT_STACK, &limit));
    if (strcmp(role, "run") == 0 && limit.rlim_max > limit.rlim_cur) {
        limit.rlim_cur = limit.rlim_max;
        must(setrlimit(RLIMIT_STACK, &limit));
        our_arguments[1] = "second";
        execv("/shared/program", our_arguments);
        broken("execv");
    }
    child(recurse); /* a segmentation fault is fine */
}

/* ---
class = "memory"
attempts = "grow the stack without end, with its limit raised as far as possible"
must = "the memory limit or the stack's limit ends the run"
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
        own_arguments[1] = "second";
        execv("/shared/program", own_arguments);
        broken("execv");
    }
    child(recurse); /* A segmentation fault is acceptable. */
}

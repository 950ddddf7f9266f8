/* ---
class = "leaks"
attempts = """\
have its pages merged with equal pages of other processes (KSM), which the duration of a write \
reveals"""
must = "the call fails as if the kernel lacked KSM"
held_by = "seccomp"
profiles = ["default", "separate"]
--- */
#include "hostile.h"

static void attack(void)
{
    char *page = must(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    refused_or("MADV_MERGEABLE", madvise(page, 4096, MADV_MERGEABLE), EINVAL);
    refused_or("PR_SET_MEMORY_MERGE", prctl(67, 1, 0, 0, 0), EINVAL);
}

/* ---
class = "leaks"
attempts = "have its pages merged with equal ones of others (KSM), which a write then tells by its time"
must = "the kernel seems not to have it"
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

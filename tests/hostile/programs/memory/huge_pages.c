/* ---
class = "memory"
attempts = "take huge pages, reserved ones and transparent ones, which another account might count"
must = "there are none of the former, unless the host sets some apart; the latter count"
held_by = "memory cgroup; RLIMIT_AS"
expect = "memory_limit"
except = [{ when = ["rlimit"], expect = "contained" }]
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    for (int i = 0; i < 40; i++) {
        char *memory = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
        if (memory == MAP_FAILED)
            break;
        memset(memory, 1, 2 * MIB);
    }
    char *memory = mmap(NULL, 160 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED && errno == ENOMEM)
        return;
    madvise(must(memory), 160 * MIB, MADV_HUGEPAGE);
    memset(memory, 1, 160 * MIB);
    escaped("160 MiB");
}

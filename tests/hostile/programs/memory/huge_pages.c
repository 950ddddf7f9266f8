/* ---
class = "memory"
attempts = "use huge pages, reserved and transparent, which might be counted separately"
must = """\
no reserved huge pages are available unless the host sets some apart; transparent ones count"""
held_by = "memory cgroup; RLIMIT_AS"
expect = "memory_limit"
control = "limits"

[[except]]
when = ["rlimit"]
expect = "contained"
--- */
#include "hostile.h"

static void attack(void)
{
    for (int i = 0; i < 40; i++) {
        char *memory = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
        if (memory == MAP_FAILED)
            break;
        memset(memory, 1, 2 * MIB);
    }
    char *memory = mmap(NULL, 160 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
        0);
    if (memory == MAP_FAILED && errno == ENOMEM)
        return;
    madvise(must(memory), 160 * MIB, MADV_HUGEPAGE);
    memset(memory, 1, 160 * MIB);
    escaped("160 MiB");
}

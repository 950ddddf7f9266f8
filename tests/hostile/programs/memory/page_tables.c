/* ---
class = "memory"
attempts = "touch one page in every 2 MiB of a huge mapping: as much page table as memory"
must = "page tables count"
held_by = "memory cgroup; RLIMIT_AS"
limits = { memory = "24M" }
expect = "memory_limit"
except = [{ when = ["rlimit"], expect = "contained" }]
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    long size = 16l << 30;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED && errno == ENOMEM)
        return;
    madvise(must(memory), size, MADV_NOHUGEPAGE);
    /* Reading maps the page of zeros: nothing but page tables is used. */
    for (long at = 0; at < size; at += 2 * MIB)
        (void)*(volatile char *)(memory + at);
    escaped("8192 page tables, 32 MiB");
}

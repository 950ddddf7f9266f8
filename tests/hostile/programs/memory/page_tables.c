/* ---
class = "memory"
attempts = """\
touch one page in every 2 MiB of a huge mapping, which uses as much memory for page tables as for \
the pages"""
must = "page tables count"
held_by = "memory cgroup; RLIMIT_AS"
limits = { memory = "24M" }
expect = "memory_limit"
control = "limits"

[[except]]
when = ["rlimit"]
expect = "contained"
--- */
#include "hostile.h"

static void attack(void)
{
    long size = 16l << 30;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED && errno == ENOMEM)
        return;
    madvise(must(memory), size, MADV_NOHUGEPAGE);
    /* A read maps the zero page, so only page tables use memory. */
    for (long at = 0; at < size; at += 2 * MIB)
        (void)*(volatile char *)(memory + at);
    escaped("8192 page tables, 32 MiB");
}

/* ---
class = "memory"
attempts = "grow the heap with brk"
must = "the memory limit ends the run, or brk returns ENOMEM"
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
    for (int i = 0; i < 160; i++) {
        char *memory = sbrk(MIB);
        if (memory == (char *)-1)
            return;
        memset(memory, 1, MIB);
    }
    escaped("160 MiB");
}

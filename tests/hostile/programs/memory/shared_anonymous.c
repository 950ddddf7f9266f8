/* ---
class = "memory"
attempts = "touch shared memory, which belongs to no process"
must = "the memory limit ends the run, or mmap returns ENOMEM"
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
        char *memory = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED && errno == ENOMEM)
            return;
        memset(must(memory), 1, MIB);
    }
    escaped("160 MiB");
}

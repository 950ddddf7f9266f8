/* ---
class = "memory"
attempts = "use memory in many processes, each of which has little"
must = "the limit applies to the memory of the whole process tree"
held_by = "memory cgroup"
expect = "memory_limit"
control = "limits"

[[except]]
when = ["rlimit"]
expect = "escaped"
exception = """\
the limit applies to each process, so a process tree can use the limit times the process limit"""
--- */
#include "hostile.h"

static void attack(void)
{
    volatile long *touched = shared_numbers();
    for (int i = 0; i < 12; i++)
        if (must(fork()) == 0) {
            char *memory = must(mmap(NULL, 12 * MIB, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
            memset(memory, 1, 12 * MIB);
            __sync_fetch_and_add(touched, 1);
            for (;;)
                pause();
        }
    while (*touched < 12)
        sleep_ms(1);
    escaped("144 MiB in twelve processes");
}

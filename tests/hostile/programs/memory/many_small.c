/* ---
class = "memory"
attempts = "use memory in many processes, each of which has little"
must = "the tree's memory is limited as one"
held_by = "memory cgroup"
expect = "memory_limit"
except = [{ when = ["rlimit"], expect = "escaped", exception = "each process has the limit for itself, so a tree has it times the process limit" }]
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    volatile long *touched = shared_numbers();
    for (int i = 0; i < 12; i++)
        if (must(fork()) == 0) {
            char *memory = must(mmap(NULL, 12 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
            memset(memory, 1, 12 * MIB);
            __sync_fetch_and_add(touched, 1);
            for (;;)
                pause();
        }
    while (*touched < 12)
        sleep_ms(1);
    escaped("144 MiB in twelve processes");
}

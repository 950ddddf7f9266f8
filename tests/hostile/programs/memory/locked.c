/* ---
class = "memory"
attempts = "lock memory, so that the kernel cannot reclaim it"
must = "RLIMIT_MEMLOCK limits locked memory, which counts like any other"
held_by = "RLIMIT_MEMLOCK; memory cgroup; RLIMIT_AS"
expect = "memory_limit or contained"
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    long locked = 0;
    mlockall(MCL_FUTURE);
    for (int i = 0; i < 160; i++) {
        char *memory = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            munlockall();
        else {
            memset(memory, 1, MIB);
            locked++;
            mlock(memory, MIB);
        }
    }
    if (locked > 100)
        escaped("%ld MiB, as far as allowed locked", locked);
}

/* ---
class = "memory"
attempts = """\
touch memory from many threads at once, so that the kernel has little time to kill the process"""
must = "the memory limit ends the run"
held_by = "memory cgroup; RLIMIT_AS"
expect = "memory_limit"
control = "limits"

[[except]]
when = ["rlimit"]
expect = "contained"
--- */
#include "hostile.h"

static volatile long touched;

static void *eater(void *nothing)
{
    for (int i = 0; i < 20; i++) {
        char *memory = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            contained();
        memset(memory, 1, MIB);
        __sync_fetch_and_add(&touched, 1);
    }
    return nothing;
}

static void attack(void)
{
    if (threads(10, eater) < 10)
        return;
    while (touched < 200)
        sleep_ms(1);
    escaped("200 MiB");
}

/* ---
class = "memory"
attempts = "fill kernel memory with open files in many processes"
must = "RLIMIT_NOFILE applies to each process, and the kernel memory of open files counts"
held_by = "memory cgroup; hard RLIMIT_NOFILE"
limits = { memory = "16M" }
expect = "memory_limit or contained"

[[except]]
when = ["rlimit"]
expect = "escaped or contained"
exception = """\
RLIMIT_AS does not count kernel memory; RLIMIT_NOFILE times the process limit bounds it"""
--- */
#include "hostile.h"
#include <sys/eventfd.h>

static void attack(void)
{
    volatile long *opened = shared_numbers();
    all_descriptors();
    for (int i = 0; i < 14; i++)
        if (must(fork()) == 0) {
            int mine = 0;
            while (mine < 8000 && eventfd(0, 0) >= 0)
                mine++;
            __sync_fetch_and_add(&opened[0], mine);
            __sync_fetch_and_add(&opened[1], 1);
            for (;;)
                pause();
        }
    while (opened[1] < 14)
        sleep_ms(1);
    if (opened[0] > 100000)
        escaped("%ld open files of about 300 bytes", opened[0]);
}

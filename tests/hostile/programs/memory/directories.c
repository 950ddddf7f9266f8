/* ---
class = "memory"
attempts = """\
start to read a large directory of the host through many descriptors, each of which then holds \
file names in the kernel"""
must = "the memory limit ends the run, or the descriptors hold little memory"
held_by = "RLIMIT_NOFILE, which follows from the memory limit and the process limit"
limits = { memory = "32M", processes = 8, descriptors = 0 }
uncharged = true
expect = "contained or memory_limit"
--- */
#include "hostile.h"

/* The memory that ext4 and btrfs use for file names while a directory is partly read. */
enum { KEPT = 17 << 10 };

static void attack(void)
{
    volatile long *opened = shared_numbers();
    all_descriptors();
    for (int i = 0; i < 7; i++) {
        if (must(fork()) == 0) {
            static char some[64];
            for (;;) {
                int fd = open("/usr/bin", O_RDONLY | O_DIRECTORY);
                if (fd < 0)
                    break;
                syscall(SYS_getdents64, fd, some, sizeof some);
                __sync_fetch_and_add(&opened[0], 1);
            }
            __sync_fetch_and_add(&opened[1], 1);
            for (;;)
                pause();
        }
    }
    while (opened[1] < 7)
        sleep_ms(1);
    if (opened[0] * KEPT > 32 * MIB)
        escaped("%ld MiB", opened[0] * KEPT / MIB);
}

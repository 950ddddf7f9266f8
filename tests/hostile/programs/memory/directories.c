/* ---
class = "memory"
tries = "begin to read a large directory of the host by many descriptors, each of which then keeps names in the kernel"
must = "the memory limit ends it, or what they hold is little"
held_by = "RLIMIT_NOFILE; process limit"
limits = { memory = "32M", processes = 8 }
uncharged = true
expect = "contained or memory_limit"
but = [{ when = [], expect = "escaped or contained or memory_limit", known_failure = "file systems of disks (ext4, btrfs) keep up to 17 KiB for an open directory that is half read, charged to nobody; 1024 descriptors for each process bound it, unless the request asks for more" }]
--- */
#include "hostile.h"
#include <sys/sysinfo.h>

static long free_memory(void)
{
    struct sysinfo now;
    must(sysinfo(&now));
    return (long)(now.freeram * now.mem_unit);
}

static void attack(void)
{
    struct rlimit most;
    must(getrlimit(RLIMIT_NOFILE, &most));
    if (most.rlim_max > 1024)
        escaped("%ld descriptors for each process", (long)most.rlim_max);
    long before = free_memory();
    for (int i = 0; i < 7; i++) {
        if (must(fork()) == 0) {
            static char some[64];
            for (;;) {
                int fd = open("/usr/bin", O_RDONLY | O_DIRECTORY);
                if (fd < 0)
                    break;
                syscall(SYS_getdents64, fd, some, sizeof some);
            }
            for (;;)
                pause();
        }
    }
    sleep_ms(500);
    long less = before - free_memory();
    if (less > 64 * MIB)
        escaped("%ld MiB", less / MIB);
}

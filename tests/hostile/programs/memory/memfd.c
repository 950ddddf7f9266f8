/* ---
class = "memory"
attempts = "fill memory files (memfd) that are on no mounted file system"
must = "the memory limit ends the run"
held_by = "memory cgroup"
expect = "memory_limit"
control = "limits"

[[except]]
when = ["rlimit"]
expect = "escaped"
exception = "RLIMIT_AS does not count files; RLIMIT_FSIZE (--output-limit) bounds each"
--- */
#include "hostile.h"

static void attack(void)
{
    static char block[MIB] = { 1 };
    for (int i = 0; i < 16; i++) {
        int fd = memfd_create("file", 0);
        if (fd < 0)
            refused("memfd_create", fd);
        for (int j = 0; j < 10; j++)
            if (write(fd, block, MIB) < 0)
                return;
    }
    escaped("160 MiB");
}

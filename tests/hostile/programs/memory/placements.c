/* ---
class = "memory"
attempts = """\
set the placement of page after page of shared memory, which the kernel records and charges to no \
cgroup"""
must = "mbind returns EPERM"
held_by = "seccomp"
limits = { memory = "32M", cpu = "60s", real = "90s" }
control = "seccomp"

[[except]]
when = ["none"]
expect = "escaped or contained"
exception = "without a profile, mbind is available, and the kernel charges its memory to no cgroup"
--- */
#include "hostile.h"
enum { PLACED = 200000 };

static void attack(void)
{
    unsigned long node = 1;
    int file = must((int)syscall(SYS_memfd_create, "shared", 0));
    must(ftruncate(file, (2l * PLACED + 2) * 4096));
    for (long i = 0; i < PLACED; i++) {
        char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 2 * i * 4096);
        if (page == MAP_FAILED)
            return;
        if (syscall(SYS_mbind, page, 4096l, 2 /* MPOL_BIND */, &node, 64l, 0) != 0) {
            refused("mbind", -1);
            return;
        }
        munmap(page, 4096);
    }
    escaped("%d pages of one file placed, %d MiB", PLACED, (int)(330l * PLACED / MIB));
}

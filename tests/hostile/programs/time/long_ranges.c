/* ---
class = "time"
attempts = """\
make the kernel walk hundreds of gigabytes of page tables in one call, which neither SIGKILL nor \
another process interrupts: guard regions, a move of huge pages to a misaligned address"""
must = """\
madvise returns EINVAL for guard regions and unknown advice, mremap returns ENOMEM for 16 GiB and \
more; other advice and smaller moves work"""
held_by = "seccomp"
profiles = ["default", "separate"]
control = "seccomp"
limits = { memory = "64G" }
--- */
#include "hostile.h"

#define GUARD_INSTALL 102
#define GUARD_REMOVE 103
#define GIB (1024 * MIB)

static void attack(void)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *from = must(mmap(NULL, 20 * GIB, PROT_READ | PROT_WRITE, flags, -1, 0));
    char *to = must(mmap(NULL, 20 * GIB, PROT_READ | PROT_WRITE, flags, -1, 0));
    /* Use one page only, because kernels before 6.13 lack this advice and return EINVAL. */
    refused_or("MADV_GUARD_INSTALL", madvise(from, 4096, GUARD_INSTALL), EINVAL);
    refused_or("MADV_GUARD_REMOVE", madvise(from, 4096, GUARD_REMOVE), EINVAL);
    refused_or("with an upper half", syscall(SYS_madvise, from, 4096, 0x100000000 | GUARD_INSTALL),
        EINVAL);
    refused_or("advice of a later kernel", madvise(from, 4096, 104), EINVAL);
    must(madvise(from, 20 * GIB, MADV_DONTNEED));
    /* Nothing is mapped there yet, so a successful move takes no time. */
    int move = MREMAP_MAYMOVE | MREMAP_FIXED;
    if (mremap(from, 16 * GIB, 16 * GIB, move, to + 4096) != MAP_FAILED)
        escaped("mremap of 16 GiB works");
    if (errno != ENOMEM)
        broken("mremap of 16 GiB");
    from[0] = 7;
    if (mremap(from, GIB, GIB, move, to + 4096) != to + 4096 || to[4096] != 7)
        broken("mremap of 1 GiB");
}

/* ---
class = "time"
attempts = """\
interrupt all CPUs of the host, or run kernel threads on them, repeatedly: seals on memory \
written on another CPU, huge pages by MADV_COLLAPSE"""
must = "the calls return EINVAL; other seals and other advice work"
held_by = "seccomp"
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"

static void attack(void)
{
    int fd = must(memfd_create("sealed", MFD_ALLOW_SEALING));
    must(ftruncate(fd, 4096));
    must(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW));
    refused_or("F_SEAL_WRITE", fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), EINVAL);
    refused_or("F_SEAL_EXEC", fcntl(fd, F_ADD_SEALS, 0x20), EINVAL);
    refused_or("both, with an upper half", syscall(SYS_fcntl, fd, 0x100000000 | F_ADD_SEALS, 0x28l),
        EINVAL);
    must(fcntl(fd, F_ADD_SEALS, 0x10 /* F_SEAL_FUTURE_WRITE */));
    char *memory = must(mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
        0));
    char *huge = (char *)(((uintptr_t)memory + 2 * MIB - 1) & -(2 * MIB));
    memset(huge, 1, 2 * MIB);
    refused_or("MADV_COLLAPSE", madvise(huge, 2 * MIB, 25), EINVAL);
    refused_or("MADV_COLLAPSE with an upper half",
        syscall(SYS_madvise, huge, 2 * MIB, 0x100000000 | 25), EINVAL);
    must(madvise(huge, 2 * MIB, MADV_DONTNEED));
}

/* ---
class = "leaks"
attempts = """\
detect which parts of a file other processes have read: cachestat, preadv2 without waiting"""
must = "cachestat seems not to exist, and the file system seems not to support RWF_NOWAIT"
held_by = "seccomp"
profiles = ["default"]
control = "seccomp"
--- */
#include "hostile.h"
#include <sys/uio.h>

static void attack(void)
{
    int fd = must(open("/usr/bin/env", O_RDONLY));
    uint64_t range[2] = { 0, 4096 }, statistics[5];
    refused("cachestat", syscall(451, fd, range, statistics, 0));
    char byte;
    struct iovec one = { &byte, 1 };
    must(preadv2(fd, &one, 1, 0, 0));
    refused_or("preadv2", preadv2(fd, &one, 1, 0, 8 /* RWF_NOWAIT */), EOPNOTSUPP);
}

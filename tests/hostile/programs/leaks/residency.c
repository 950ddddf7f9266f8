/* ---
class = "leaks"
tries = "see which parts of a file others have read: cachestat"
must = "it seems not to exist"
held_by = "seccomp"
profiles = ["default"]
--- */
#include "hostile.h"

static void attack(void)
{
    int fd = must(open("/usr/bin/env", O_RDONLY));
    uint64_t range[2] = { 0, 4096 }, statistics[5];
    refused("cachestat", syscall(451, fd, range, statistics, 0));
}

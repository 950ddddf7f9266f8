/* ---
class = "memory"
attempts = """\
use kernel memory that is charged to no cgroup, through futexes: 32 KiB for each thread that waits \
for 128 of them, and a hash table of any size, whose creation also stops a CPU"""
must = "futex_waitv returns ENOSYS and PR_FUTEX_HASH returns EINVAL; futex works"
held_by = "seccomp"
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"
#include <linux/futex.h>

#define FUTEX_HASH 78

struct waiter { /* struct futex_waitv, which some C libraries lack */
    uint64_t value, address;
    uint32_t flags, reserved;
};

static void attack(void)
{
    static uint32_t word = 1;
    struct waiter waiters[128];
    for (int i = 0; i < 128; i++)
        waiters[i] = (struct waiter){ .value = 0, .address = (uintptr_t)&word,
            .flags = 2 /* FUTEX2_SIZE_U32 */ };
    /* Kernels before 6.16 lack this option. A table of 2 slots is small enough to do no harm. */
    refused_or("PR_FUTEX_HASH", prctl(FUTEX_HASH, 1 /* SET_SLOTS */, 2, 0, 0), EINVAL);
    refused_or("with an upper half", syscall(SYS_prctl, 0x100000000 | FUTEX_HASH, 1, 2, 0, 0),
        EINVAL);
    /* The word has a different value, so no thread sleeps if the call works. */
    long answer = syscall(449 /* futex_waitv */, waiters, 128, 0, NULL, 0);
    if (answer == -1 && errno == EAGAIN)
        escaped("futex_waitv works");
    refused("futex_waitv", answer);
    if (syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0) != -1 || errno != EAGAIN)
        broken("futex");
}

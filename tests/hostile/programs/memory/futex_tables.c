/* ---
class = "memory"
attempts = "have kernel memory that no cgroup is charged for by futexes: 32 KiB for each thread that waits for 128 of them, a hash table of a size of its own choice, which also stops a CPU"
must = "ENOSYS for futex_waitv, EINVAL for PR_FUTEX_HASH; futex works"
held_by = "seccomp"
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"
#include <linux/futex.h>

#define FUTEX_HASH 78

struct waiter { /* struct futex_waitv, which not every C library has */
    uint64_t value, address;
    uint32_t flags, reserved;
};

static void attack(void)
{
    static uint32_t word = 1;
    struct waiter waiters[128];
    for (int i = 0; i < 128; i++)
        waiters[i] = (struct waiter){ .value = 0, .address = (uintptr_t)&word, .flags = 2 /* FUTEX2_SIZE_U32 */ };
    /* Kernels before 6.16 have no such option. 2 is a table that is small enough to do no harm. */
    refused_or("PR_FUTEX_HASH", prctl(FUTEX_HASH, 1 /* SET_SLOTS */, 2, 0, 0), EINVAL);
    refused_or("with an upper half", syscall(SYS_prctl, 0x100000000 | FUTEX_HASH, 1, 2, 0, 0), EINVAL);
    /* The word has another value, so no thread sleeps where it works. */
    long answer = syscall(449 /* futex_waitv */, waiters, 128, 0, NULL, 0);
    if (answer == -1 && errno == EAGAIN)
        escaped("futex_waitv works");
    refused("futex_waitv", answer);
    if (syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0) != -1 || errno != EAGAIN)
        broken("futex");
}

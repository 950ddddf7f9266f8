/* ---
class = "escape"
attempts = "call numbers that the profile does not know, up to those of kernels to come"
must = "ENOSYS for each"
held_by = "seccomp: what is not named is not there"
profiles = ["default", "separate"]
--- */
#include "hostile.h"

static void attack(void)
{
    for (long number = 470; number < 4096; number++) {
        if (syscall(number, 0, 0, 0, 0, 0, 0) != -1)
            escaped("%ld works", number);
        if (errno != ENOSYS)
            escaped("%ld is known: %d", number, errno);
    }
    if (syscall(-2) != -1 || errno != ENOSYS)
        escaped("-2 works");
}

/* ---
class = "escape"
attempts = "make system calls that the profile does not list, up to numbers of future kernels"
must = "each call returns ENOSYS"
held_by = "seccomp: calls that the profile does not list do not exist"
profiles = ["default", "separate"]
--- */
#include "hostile.h"

static void attack(void)
{
    for (long number = 470; number < 4096; number++) {
        if (syscall(number, 0, 0, 0, 0, 0, 0) != -1)
            escaped("%ld works", number);
        if (errno != ENOSYS)
            escaped("call %ld is known: errno %d", number, errno);
    }
    if (syscall(-2) != -1 || errno != ENOSYS)
        escaped("-2 works");
}

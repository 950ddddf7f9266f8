/* ---
class = "time"
attempts = "keep all other processes off the sibling threads of its CPU, by core scheduling"
must = "prctl returns EPERM"
held_by = "seccomp"
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"

static void attack(void)
{
    for (long command = 0; command < 4; command++) {
        uint64_t cookie;
        errno = 0;
        long answer = prctl(62 /* PR_SCHED_CORE */, command, 0, 0, command == 0 ? &cookie : 0);
        if (answer == 0 || errno != EPERM)
            escaped("command %ld: errno %d", command, errno);
    }
    must(prctl(PR_SET_NAME, "name", 0, 0, 0));
}

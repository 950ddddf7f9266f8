/* ---
class = "processes"
attempts = "start threads until it fails"
must = "threads count like processes"
held_by = "pids cgroup; RLIMIT_NPROC"
control = "limits"
--- */
#include "hostile.h"

static void *sleeper(void *nothing)
{
    for (;;)
        pause();
    return nothing;
}

static void attack(void)
{
    if (threads(200, sleeper) == 200)
        escaped("200 threads");
}

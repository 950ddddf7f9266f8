/* ---
class = "time"
attempts = "choose its own CPUs: those of another run, whose time its timers would then use"
must = "sched_setaffinity returns EPERM, and the CPUs stay the same"
held_by = "seccomp"
profiles = ["default", "separate", "none"]
control = "seccomp"

[[except]]
when = ["none"]
expect = "escaped"
exception = "without a profile, a program may run on all CPUs of its slot"
--- */
#include "hostile.h"

static void attack(void)
{
    cpu_set_t before, one, after;
    must(sched_getaffinity(0, sizeof before, &before));
    CPU_ZERO(&one);
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) {
        if (CPU_ISSET(cpu, &before)) {
            CPU_SET(cpu, &one);
            break;
        }
    }
    refused("sched_setaffinity", sched_setaffinity(0, sizeof one, &one));
    refused("of a thread by its number", sched_setaffinity(getpid(), sizeof one, &one));
    must(sched_getaffinity(0, sizeof after, &after));
    if (!CPU_EQUAL(&before, &after))
        escaped("other CPUs than before");
}

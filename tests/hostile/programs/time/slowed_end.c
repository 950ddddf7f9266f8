/* ---
class = "time"
attempts = """\
give pid1 the lowest share of the CPU and compute in hundreds of processes, so that the end of \
the run waits for pid1"""
must = "the run ends at its limit"
held_by = "the supervisor, which kills processes until pid1 is gone"
limits = { processes = 320, cpu = "60s", real = "2s" }
expect = "real_time_limit"
profiles = ["none"]
--- */
#include "hostile.h"

static void attack(void)
{
    struct scheduling slow = { .size = sizeof slow, .policy = SCHED_BATCH, .nice = 19,
        .runtime = 100000000 };
    /* A user without rights cannot lower the nice value with which the test was started. */
    struct scheduling short_turns = { .size = sizeof short_turns, .runtime = 100000,
        .nice = getpriority(PRIO_PROCESS, 0) };
    must(syscall(SYS_sched_setattr, 1, &slow, 0));
    must(syscall(SYS_sched_setattr, 0, &short_turns, 0));
    long begin = clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < 300; i++)
        if (fork() == 0)
            break;
    /* The processes live until the sandbox ends them, and report their age. */
    for (long said = 0; clock_ns(CLOCK_MONOTONIC) - begin < 40000000000;)
        if (clock_ns(CLOCK_MONOTONIC) - begin > said) {
            said = clock_ns(CLOCK_MONOTONIC) - begin;
            say("alive_ns=%ld\n", said);
            said += 500000000;
        }
}

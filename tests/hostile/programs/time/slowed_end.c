/* ---
class = "time"
attempts = "give pid1 the least right to the CPU there is, and compute in hundreds of processes, so that the end of the run waits for pid1's turn"
must = "it is ended at its limit"
held_by = "the supervisor, who goes on ending processes until pid1 is gone"
limits = { processes = 320, cpu = "60s", real = "2s" }
expect = "real_time_limit"
profiles = ["none"]
--- */
#include "hostile.h"

static void attack(void)
{
    struct scheduling slow = { .size = sizeof slow, .policy = SCHED_BATCH, .nice = 19, .runtime = 100000000 };
    struct scheduling short_turns = { .size = sizeof short_turns, .runtime = 100000 };
    must(syscall(SYS_sched_setattr, 1, &slow, 0));
    must(syscall(SYS_sched_setattr, 0, &short_turns, 0));
    long begin = clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < 300; i++)
        if (fork() == 0)
            break;
    /* They live for as long as nobody ends them, and say so. */
    for (long said = 0; clock_ns(CLOCK_MONOTONIC) - begin < 40000000000;)
        if (clock_ns(CLOCK_MONOTONIC) - begin > said) {
            said = clock_ns(CLOCK_MONOTONIC) - begin;
            say("alive_ns=%ld\n", said);
            said += 500000000;
        }
}

/* ---
class = "processes"
attempts = "have a thread that is not the first execute a program while others spin, which gives it the first one's id"
must = "it is still the run's first process: its exit is the result"
held_by = "pid1"
with = ["program"]
expect = "exited 7"
profiles = ["default", "none", "separate"]
--- */
#include "hostile.h"

static void *spinner(void *nothing)
{
    for (;;)
        ;
    return nothing;
}

static void *executer(void *nothing)
{
    our_arguments[1] = "second";
    execv("/shared/program", our_arguments);
    return nothing;
}

static void attack(void)
{
    if (strcmp(role, "second") == 0)
        _exit(7);
    threads(4, spinner);
    threads(1, executer);
    for (;;)
        pause();
}

/* ---
class = "processes"
attempts = """\
execute a program from a second thread while others spin, so that it takes over the first \
thread's id"""
must = "the process remains the first process of the run, and its exit is the result"
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
    own_arguments[1] = "second";
    execv("/shared/program", own_arguments);
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

/* ---
class = "memory"
attempts = "hold memory in the arguments and environments of processes"
must = "the memory limit ends the run"
held_by = "memory cgroup; a bound for each process"
with = ["program"]
limits = { memory = "16M" }
expect = "memory_limit"
control = "limits"

[[except]]
when = ["rlimit"]
expect = "escaped or contained"
exception = "the limit applies to each process"
--- */
#include "hostile.h"

static char text[120 << 10];

static void attack(void)
{
    if (strcmp(role, "second") == 0) {
        must(write(3, "x", 1));
        for (;;)
            pause();
    }
    int ends[2];
    char *environment[20] = { 0 };
    memset(text, 'x', sizeof text - 1);
    for (int i = 0; i < 16; i++)
        environment[i] = text;
    must(pipe(ends));
    if (ends[0] != 3)
        must(dup2(ends[1], 3));
    else {
        ends[0] = must(dup(3));
        must(dup2(ends[1], 3));
    }
    own_arguments[1] = "second";
    for (int i = 0; i < 14; i++) {
        if (must(fork()) == 0) {
            execve("/shared/program", own_arguments, environment);
            _exit(0);
        }
        char byte;
        must(read(ends[0], &byte, 1));
    }
    escaped("27 MiB of environment in 14 processes");
}

/* ---
class = "escape"
attempts = "trace pid1, which shares memory with the runner"
must = "ptrace is refused"
held_by = "seccomp; pid1 is not dumpable"
profiles = ["default", "none", "separate"]
with = ["root"]
--- */
#include "hostile.h"
#include <sys/ptrace.h>

static void attack(void)
{
    refused("attach", ptrace(PTRACE_ATTACH, 1, 0, 0));
    refused("seize", ptrace(PTRACE_SEIZE, 1, 0, 0));
}

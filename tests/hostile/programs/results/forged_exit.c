/* ---
class = "results"
attempts = """\
exit with 0 in a sibling that it created for pid1 (CLONE_PARENT), before it fails itself"""
must = "the result is that of the first process: 3"
held_by = "pid1 knows its first child"
profiles = ["default", "none", "separate"]
expect = "exited 3"
--- */
#include "hostile.h"

static void attack(void)
{
    for (int i = 0; i < 5; i++) {
        long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
        if (pid == 0)
            _exit(0);
        must(pid);
    }
    sleep_ms(20);
    _exit(3);
}

/* ---
class = "results"
tries = "have pid1 fail: its resource limits lowered to nothing by prlimit"
must = "the run is no failure of the sandbox"
held_by = "pid1 needs nothing that limits could take; prlimit is refused where ids or capabilities differ"
profiles = ["default", "none", "separate"]
with = ["proc"]
--- */
#include "hostile.h"

static void attack(void)
{
    for (int resource = 0; resource < RLIM_NLIMITS; resource++)
        prlimit(1, resource, &(struct rlimit){ 0, 0 }, NULL);
    if (must(fork()) == 0)
        _exit(0);
    must(wait(NULL));
    /* An orphan, for which pid1 has to do something. */
    pid_t pid = must(fork());
    if (pid == 0) {
        if (must(fork()) == 0)
            sleep_ms(20);
        _exit(0);
    }
    must(waitpid(pid, NULL, 0));
    sleep_ms(50);
}

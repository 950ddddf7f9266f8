/* ---
class = "results"
attempts = """\
make the kernel kill pid1: set its CPU-time limit to zero by prlimit, then give it much work"""
must = "the run does not count as a failure of the sandbox"
held_by = "seccomp: the run cannot change the limits of pid1"
profiles = ["default", "none", "separate"]

[[except]]
when = ["none"]
expect = "contained or signaled 9"
exception = """\
without a profile, the kernel lets the run change the limits of pid1, which has the same user; \
this ends the run"""
--- */
#include "hostile.h"

static void attack(void)
{
    for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
        long answer = prlimit(1, resource, &(struct rlimit){ 0, 0 }, NULL);
        if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2)
            refused("pid1's limits", answer);
    }
    for (int i = 0; i < 400; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            if (fork() == 0)
                sleep_ms(1);
            _exit(0);
        }
        if (pid > 0)
            must(waitpid(pid, NULL, 0));
    }
}

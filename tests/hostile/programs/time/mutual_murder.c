/* ---
class = "time"
attempts = """\
have children kill and replace each other, so that no process lives long enough for a measurement"""
must = "a time limit ends the run"
held_by = "cgroup; real-time limit"
expect = "cpu_time_limit"
limits = { cpu = "400ms" }
control = "limits"
--- */
#include "hostile.h"

static void attack(void)
{
    for (int i = 0; i < 1500; i++) {
        pid_t pid = must(fork());
        if (pid == 0)
            for (;;)
                ;
        nanosleep(&(struct timespec){ 0, 300000 }, NULL);
        kill(pid, SIGKILL);
        must(waitpid(pid, NULL, 0));
        spin_ms(1);
    }
    escaped("a second and a half of CPU time and more");
}

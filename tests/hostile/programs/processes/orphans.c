/* ---
class = "processes"
attempts = "flood pid1 with orphans that end at once"
must = "pid1 reaps every orphan, so that the next one finds room"
held_by = "pid1"
profiles = ["default", "none", "separate"]
limits = { processes = 4 }
--- */
#include "hostile.h"

static void orphan(void)
{
    pid_t pid;
    for (int tries = 0; (pid = fork()) < 0; tries++) {
        if (tries == 2000)
            broken("no room: orphans stay zombies");
        sleep_ms(1);
    }
    if (pid == 0)
        _exit(0);
}

static void attack(void)
{
    for (int i = 0; i < 300; i++) {
        pid_t pid;
        for (int tries = 0; (pid = fork()) < 0; tries++) {
            if (tries == 2000)
                broken("no room: orphans stay zombies");
            sleep_ms(1);
        }
        if (pid == 0) {
            orphan();
            _exit(0);
        }
        must(waitpid(pid, NULL, 0));
    }
}

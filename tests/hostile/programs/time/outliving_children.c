/* ---
class = "time"
attempts = "exit at once, and leave spinning children"
must = "the run ends with its first process, and the children end"
held_by = "PID namespace"
profiles = ["default", "none", "separate"]
--- */
#include "hostile.h"

static void attack(void)
{
    for (int i = 0; i < 8; i++)
        if (must(fork()) == 0)
            for (;;)
                ;
}

/* ---
class = "time"
attempts = """\
outlive the real-time limit in processes that write to a stopped pseudo-terminal, wait until its \
output is sent, and read from it"""
must = "the real-time limit ends the run in time"
held_by = "kill of pid1"
with = ["standard", "pseudo_terminals"]
limits = { real = "1s" }
expect = "real_time_limit"
profiles = ["default", "separate"]
control = "all_limits"
--- */
#include "hostile.h"
#include <pty.h>
#include <termios.h>

static void attack(void)
{
    static char output[65536];
    int emulator, terminal;
    must(openpty(&emulator, &terminal, NULL, NULL, NULL));
    must(tcflow(terminal, TCOOFF));
    for (int i = 0; i < 6; i++) {
        if (fork())
            continue;
        signal(SIGHUP, SIG_IGN);
        signal(SIGTTOU, SIG_IGN);
        if (i % 3 == 0)
            write(terminal, output, sizeof output);
        else if (i % 3 == 1)
            tcdrain(terminal);
        else
            read(terminal, output, sizeof output);
        pause();
    }
    sleep_ms(3000);
    escaped("slept three seconds");
}

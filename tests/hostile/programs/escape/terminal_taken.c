/* ---
class = "escape"
attempts = "make the terminal on its standard input the controlling terminal, and inject input"
must = "TIOCSTI is refused nevertheless"
held_by = "seccomp; dev.tty.legacy_tiocsti, if the kernel disables it"
repeats = ["CVE-2017-5226 (bubblewrap)"]
with = ["terminal"]
profiles = ["default"]
--- */
#include "hostile.h"
#include <termios.h>

static void attack(void)
{
    ioctl(0, TIOCSCTTY, 0);
    char byte = 'x';
    refused("TIOCSTI", ioctl(0, TIOCSTI, &byte));
}

/* ---
class = "escape"
attempts = "take the terminal that it has as standard input as its controlling terminal, and type into it"
must = "TIOCSTI is refused all the same"
held_by = "seccomp; dev.tty.legacy_tiocsti where the kernel has it off"
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

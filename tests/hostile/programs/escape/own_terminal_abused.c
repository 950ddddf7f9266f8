/* ---
class = "escape"
attempts = """\
inject input into a pseudo-terminal of its own, load a line discipline, take the kernel's console"""
must = "each request returns EPERM; modes and sizes of its own pseudo-terminal can be set"
held_by = "seccomp"
with = ["standard", "pseudo_terminals"]
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"
#include <pty.h>
#include <termios.h>

static void attack(void)
{
    int emulator, terminal, discipline = 15;
    char byte = 'x';
    struct termios modes;
    must(openpty(&emulator, &terminal, NULL, NULL, NULL));
    must(tcgetattr(terminal, &modes));
    cfmakeraw(&modes);
    must(tcsetattr(terminal, TCSANOW, &modes));
    must(ioctl(terminal, TIOCSCTTY, 0));
    refused("TIOCEXCL", ioctl(terminal, TIOCEXCL));
    refused("TIOCSTI", ioctl(terminal, TIOCSTI, &byte));
    refused("TIOCSETD", ioctl(terminal, TIOCSETD, &discipline));
    refused("TIOCCONS", ioctl(emulator, TIOCCONS));
    refused("TIOCLINUX", ioctl(terminal, TIOCLINUX, &byte));
    refused("TIOCVHANGUP", ioctl(terminal, 0x5437));
}

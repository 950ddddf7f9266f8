/* ---
class = "escape"
attempts = """\
change the terminal on its standard input: modes, size, modem lines; stop its output, discard \
typed input, lock out other programs"""
must = "each request returns EPERM; isatty and the query of the size work"
held_by = "seccomp"
with = ["terminal"]
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"
#include <termios.h>

static void attack(void)
{
    struct termios modes, after;
    struct winsize size;
    char kernel_modes[256] = { 0 };
    int number = 0;
    if (!isatty(0))
        broken("no terminal");
    must(tcgetattr(0, &modes));
    must(ioctl(0, TIOCGWINSZ, &size));
    must(ioctl(0, FIONREAD, &number));
    /* First the requests that do no harm in the control run. */
    refused("TIOCSWINSZ", ioctl(0, TIOCSWINSZ, &size));
    modes.c_lflag &= ~(ISIG | ECHO);
    refused("TCSETS", tcsetattr(0, TCSANOW, &modes));
    refused("TCSETSW", tcsetattr(0, TCSADRAIN, &modes));
    refused("TCSETSF", tcsetattr(0, TCSAFLUSH, &modes));
    refused("with an upper half", syscall(SYS_ioctl, 0, 0x100000000 | TCSETS, kernel_modes));
    refused("TCSETS2", ioctl(0, 0x402c542bu, kernel_modes));
    refused("TCSETA", ioctl(0, TCSETA, kernel_modes));
    refused("TCXONC", tcflow(0, TCOON));
    refused("TCFLSH", tcflush(0, TCIFLUSH));
    refused("TIOCEXCL", ioctl(0, TIOCEXCL));
    refused("TIOCNXCL", ioctl(0, TIOCNXCL));
    refused("TIOCMSET", ioctl(0, TIOCMSET, &number));
    refused("TIOCPKT", ioctl(0, TIOCPKT, &number));
    refused("TIOCSPGRP", ioctl(0, TIOCSPGRP, &number));
    refused("TIOCSCTTY", ioctl(0, TIOCSCTTY, 0));
    must(tcgetattr(0, &after));
    if (!(after.c_lflag & ISIG))
        escaped("the modes have changed");
}

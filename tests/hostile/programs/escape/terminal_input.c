/* ---
class = "escape"
attempts = "inject input into the terminal on its standard input, as if the host's user typed it"
must = """\
TIOCSTI, TIOCLINUX, TIOCSETD and TIOCCONS are refused; the terminal is not the controlling \
terminal"""
held_by = "seccomp; a separate session"
repeats = ["CVE-2017-5226 (bubblewrap)", "CVE-2023-1523 (snapd)"]
with = ["terminal"]
--- */
#include "hostile.h"
#include <termios.h>

static void attack(void)
{
    char byte = 'x', paste[2] = { 3, 0 };
    int discipline = 15;
    if (!isatty(0))
        broken("no terminal");
    refused_or("TIOCSTI", ioctl(0, TIOCSTI, &byte), EIO);
    /* The kernel may use only the lower half of the request. */
    refused_or("TIOCSTI with an upper half",
        syscall(SYS_ioctl, 0, 0xffffffff00000000ul | TIOCSTI, &byte), EIO);
    refused_or("TIOCLINUX", ioctl(0, TIOCLINUX, paste), ENOTTY);
    refused_or("TIOCSETD", ioctl(0, TIOCSETD, &discipline), EINVAL);
    refused("TIOCCONS", ioctl(0, TIOCCONS, 0));
    if (open("/dev/tty", O_RDWR) >= 0)
        escaped("a controlling terminal");
}

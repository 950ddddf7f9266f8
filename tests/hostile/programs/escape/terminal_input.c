/* ---
class = "escape"
attempts = "type into the terminal that it has as standard input, as if the host's user did"
must = "TIOCSTI, TIOCLINUX, TIOCSETD and TIOCCONS are refused; the terminal is not its controlling one"
held_by = "seccomp; a session of its own"
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
    /* The kernel may look at the lower half of the request only. */
    refused_or("TIOCSTI with an upper half", syscall(SYS_ioctl, 0, 0xffffffff00000000ul | TIOCSTI, &byte), EIO);
    refused_or("TIOCLINUX", ioctl(0, TIOCLINUX, paste), ENOTTY);
    refused_or("TIOCSETD", ioctl(0, TIOCSETD, &discipline), EINVAL);
    refused("TIOCCONS", ioctl(0, TIOCCONS, 0));
    if (open("/dev/tty", O_RDWR) >= 0)
        escaped("a controlling terminal");
}

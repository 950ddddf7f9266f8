/* ---
class = "escape"
attempts = """\
control the machine: reboot, swap, accounting, quotas, names, clocks, the kernel log, I/O ports"""
must = "all calls are refused"
held_by = "seccomp; no capabilities"
with = ["root"]
--- */
#include "hostile.h"
#include <sys/timex.h>

static void attack(void)
{
    struct timespec now = { 0, 0 };
    refused("reboot", syscall(SYS_reboot, 0xfee1dead, 0x28121969, 0x89abcdef, NULL));
    refused("swapon", syscall(SYS_swapon, "/tmp/swap", 0));
    refused("swapoff", syscall(SYS_swapoff, "/tmp/swap"));
    refused("acct", syscall(SYS_acct, NULL));
    refused_or("quotactl", syscall(SYS_quotactl, 0x80000000 | 7 << 8, "/dev/vda", 0, NULL), ENOENT);
    refused("sethostname", sethostname("x", 1));
    refused("setdomainname", syscall(SYS_setdomainname, "x", 1));
    refused("clock_settime", syscall(SYS_clock_settime, CLOCK_REALTIME, &now));
    refused("settimeofday", syscall(SYS_settimeofday, &(struct timeval){ 0 }, NULL));
    refused("adjtimex", syscall(SYS_adjtimex, &(struct timex){ .modes = ADJ_TICK, .tick = 10000 }));
    refused("syslog", syscall(SYS_syslog, 5 /* clear */, NULL, 0));
    refused("iopl", syscall(SYS_iopl, 3));
    refused("ioperm", syscall(SYS_ioperm, 0x80ul, 1ul, 1));
    refused("vhangup", syscall(SYS_vhangup));
}

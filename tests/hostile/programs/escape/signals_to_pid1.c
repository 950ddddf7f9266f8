/* ---
class = "escape"
attempts = """\
kill pid1 with any signal, with and without forged siginfo, by process, thread and pidfd"""
must = "pid1 is not affected"
held_by = "PID namespace: its init receives no fatal signals from inside"
profiles = ["default", "none", "separate"]
--- */
#include "hostile.h"

static void attack(void)
{
    int pid1 = must(syscall(SYS_pidfd_open, 1, 0));
    for (int signal = 1; signal < 65; signal++) {
        siginfo_t forged = { .si_signo = signal, .si_code = SI_TIMER };
        siginfo_t queued = { .si_signo = signal, .si_code = SI_QUEUE };
        kill(1, signal);
        syscall(SYS_tkill, 1, signal);
        syscall(SYS_tgkill, 1, 1, signal);
        syscall(SYS_rt_sigqueueinfo, 1, signal, &forged);
        syscall(SYS_rt_tgsigqueueinfo, 1, 1, signal, &queued);
        syscall(SYS_pidfd_send_signal, pid1, signal, NULL, 0);
    }
    sleep_ms(50);
    must(kill(1, 0));
}

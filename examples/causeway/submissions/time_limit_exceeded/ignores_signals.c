/* Blocks and ignores all signals that can be blocked, and spins. A judge that sends SIGXCPU first
 * and SIGKILL later would wait for it. The program must end as soon as it reaches the time
 * limit. */
#include <signal.h>
#include <stddef.h>

int main(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (int number = 1; number < 65; number++)
        signal(number, SIG_IGN);
    for (volatile unsigned i = 0;; i++) {
    }
}

/* Blocks and ignores every signal that can be, and runs in a circle, so that a polite judge (SIGXCPU
 * first, SIGKILL later) would wait for it. Time limit, when it is reached. */
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

/* A fork bomb: every process makes more, for ever. The number of processes is limited, fork fails
 * soon, and all that there are run in circles until their common CPU time is used up: time limit.
 * Nobody else on the machine may notice, and none of them may be left. */
#include <unistd.h>

int main(void) {
    for (;;)
        fork();
}

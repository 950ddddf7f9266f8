/* A fork bomb that holds both pipes in every process. The number of processes is limited, fork fails
 * soon, and all that there are run in circles until their common CPU time is used up: time limit.
 * The interactor must get its turn in spite of it, and none of them may be left. */
#include <unistd.h>

int main(void) {
    for (;;)
        fork();
}

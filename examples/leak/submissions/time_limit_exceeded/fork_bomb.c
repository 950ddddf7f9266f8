/* A fork bomb that holds both pipes open in every process. The number of processes is limited, so
 * fork soon fails. All processes spin until they have used their common CPU time: time limit. The
 * interactor must still receive CPU time, and no process may remain. */
#include <unistd.h>

int main(void) {
    for (;;)
        fork();
}

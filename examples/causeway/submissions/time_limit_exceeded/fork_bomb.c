/* A fork bomb: every process forks endlessly. The number of processes is limited, so fork soon
 * fails. The processes then spin until they have used their common CPU time: time limit. Other
 * programs on the machine must not be affected, and no process may remain. */
#include <unistd.h>

int main(void) {
    for (;;)
        fork();
}

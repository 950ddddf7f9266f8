#include <stdlib.h>
#include <string.h>

/* Optimisers remove blocks that nothing can read. */
void *volatile last;

int main(void) {
    for (;;) {
        char *block = malloc(1 << 20);
        if (!block)
            return 1;
        memset(block, 1, 1 << 20);
        last = block;
    }
}

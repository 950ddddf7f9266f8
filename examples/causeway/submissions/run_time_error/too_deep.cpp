// Calls itself without end, and the stack ends: SIGSEGV, or, where the stack may be as large as
// all memory, the memory limit. Both are what this directory's name says.
#include <cstdio>

static int deeper(volatile int* above) {
    volatile int here[256] = {above[0] + 1};
    return deeper(here) + here[0];
}

int main() {
    volatile int first[1] = {0};
    std::printf("%d\n", deeper(first));
}

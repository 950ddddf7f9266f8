// Endless recursion. The stack overflows with SIGSEGV or, if the stack may use all memory, the
// program exceeds the memory limit. This directory covers both results.
#include <cstdio>

static int deeper(volatile int* above) {
    volatile int here[256] = {above[0] + 1};
    return deeper(here) + here[0];
}

int main() {
    volatile int first[1] = {0};
    std::printf("%d\n", deeper(first));
}

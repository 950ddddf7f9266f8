// A compute-bound program. It counts the placements of N queens on a board, uses almost no
// memory, and makes almost no system calls.
#include <cstdio>
#include <cstdlib>

static unsigned long place(unsigned all, unsigned columns, unsigned left, unsigned right) {
    if (columns == all) return 1;
    unsigned long ways = 0;
    for (unsigned free = all & ~(columns | left | right); free;) {
        unsigned bit = free & -free;
        free ^= bit;
        ways += place(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return ways;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 8;
    std::printf("%lu\n", place((1u << n) - 1, 0, 0, 0));
}

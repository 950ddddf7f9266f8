// Stores every possible heap. Their number doubles with each stone, up to 2^60. The kernel kills
// the program at the memory limit. If only the address space is limited, the program ends by
// std::bad_alloc and SIGABRT. This directory covers both results.
#include <array>
#include <cstdio>
#include <vector>

int main() {
    int n;
    if (std::scanf("%d", &n) != 1)
        return 1;
    std::vector<std::array<char, 1024>> heaps(1);
    for (int stone = 0; stone < 60; ++stone)
        for (std::size_t i = 0, count = heaps.size(); i < count; ++i) {
            heaps.push_back(heaps[i]);
            heaps.back()[stone] = 1;
        }
    std::printf("%zu\n", heaps.size());
}

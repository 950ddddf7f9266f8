// Keeps every heap that there is: twice as many with each stone, 2^60 in the end. The kernel ends it
// at the memory limit, or, where only its address space is limited, std::bad_alloc does, by SIGABRT.
// Both are what this directory's name says.
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

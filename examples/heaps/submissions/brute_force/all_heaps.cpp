// Tries every heap: correct, but 2^60 heaps take longer than a lifetime. The name of this directory
// does not state how the program fails. It reaches the time limit.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main() {
    int n;
    if (std::scanf("%d", &n) != 1)
        return 1;
    std::vector<int> weights(n);
    for (int& weight : weights)
        if (std::scanf("%d", &weight) != 1)
            return 1;
    std::uint64_t best = 0;
    int least = 1 << 30;
    for (std::uint64_t heap = 0; heap < std::uint64_t{1} << n; ++heap) {
        int difference = 0;
        for (int stone = 0; stone < n; ++stone)
            difference += heap >> stone & 1 ? weights[stone] : -weights[stone];
        if (std::abs(difference) < least) {
            least = std::abs(difference);
            best = heap;
        }
    }
    std::printf("%d\n", __builtin_popcountll(best));
    for (int stone = 0; stone < n; ++stone)
        if (best >> stone & 1)
            std::printf("%d ", stone + 1);
    std::printf("\n");
}

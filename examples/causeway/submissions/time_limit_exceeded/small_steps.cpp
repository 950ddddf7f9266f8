// Adds up single millimetres for every minute and every proposal: correct, but ten thousand times
// too slow.
#include <algorithm>
#include <cstdio>
#include <vector>

int main() {
    int n, m;
    if (std::scanf("%d %d", &n, &m) != 2)
        return 1;
    std::vector<int> readings(n);
    for (int& height : readings)
        if (std::scanf("%d", &height) != 1)
            return 1;
    for (int proposal; m > 0 && std::scanf("%d", &proposal) == 1; --m) {
        double minutes = 0;
        for (int i = 1; i < n; ++i) {
            const auto [low, high] = std::minmax(readings[i - 1], readings[i]);
            if (low == high && low <= proposal)
                minutes += 1;
            for (int height = low; height < high; ++height)
                minutes += height < proposal ? 1.0 / (high - low) : 0;
        }
        std::printf("%.9f\n", minutes);
    }
}

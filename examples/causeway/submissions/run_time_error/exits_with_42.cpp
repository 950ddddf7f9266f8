// Answers correctly and exits with 42, the status with which a validator accepts. A submission that
// exits with any status other than 0 has failed: run-time error.
#include <algorithm>
#include <cstdio>
#include <vector>

int main() {
    constexpr int HIGHEST = 10000;
    int n, m;
    if (std::scanf("%d %d", &n, &m) != 2)
        return 1;
    std::vector<double> change(HIGHEST + 2), level(HIGHEST + 2);
    int before = 0;
    for (int i = 0; i < n; ++i) {
        int height;
        if (std::scanf("%d", &height) != 1)
            return 1;
        if (i > 0) {
            const int low = std::min(before, height), high = std::max(before, height);
            if (low == high) {
                level[low] += 1;
            } else {
                change[low] += 1.0 / (high - low);
                change[high] -= 1.0 / (high - low);
            }
        }
        before = height;
    }
    std::vector<double> minutes(HIGHEST + 1);
    double sum = level[0], slope = change[0];
    for (int height = 0; height <= HIGHEST; ++height) {
        minutes[height] = sum;
        sum += slope + level[height + 1];
        slope += change[height + 1];
    }
    for (int i = 0; i < m; ++i) {
        int height;
        if (std::scanf("%d", &height) != 1)
            return 1;
        std::printf("%.9f\n", minutes[height]);
    }
    return 42;
}

// Starts children that keep its standard output open and sleep for an hour. Then it answers
// correctly and exits with 0. If it may not start processes, fork fails and the program continues
// alone. Accepted in both cases: the answer counts, the sandbox kills the children with the run,
// and the judge does not wait for them to close the output.
#include <algorithm>
#include <cstdio>
#include <unistd.h>
#include <vector>

int main() {
    for (int i = 0; i < 3; ++i)
        if (fork() == 0) {
            sleep(3600);
            _exit(0);
        }
    constexpr int HIGHEST = 10000;
    int n, m;
    if (std::scanf("%d %d", &n, &m) != 2)
        return 1;
    std::vector<int> readings(n);
    for (int& height : readings)
        if (std::scanf("%d", &height) != 1)
            return 1;
    std::vector<double> change(HIGHEST + 2), level(HIGHEST + 2);
    for (int i = 1; i < n; ++i) {
        const auto [low, high] = std::minmax(readings[i - 1], readings[i]);
        if (low == high) {
            level[low] += 1;
            continue;
        }
        change[low] += 1.0 / (high - low);
        change[high] -= 1.0 / (high - low);
    }
    std::vector<double> minutes(HIGHEST + 1);
    double sum = level[0], slope = change[0];
    for (int height = 0; height <= HIGHEST; ++height) {
        minutes[height] = sum;
        sum += slope + level[height + 1];
        slope += change[height + 1];
    }
    for (int height; m > 0 && std::scanf("%d", &height) == 1; --m)
        std::printf("%.9f\n", minutes[height]);
}

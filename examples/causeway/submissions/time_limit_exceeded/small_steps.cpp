// Walks through every minute in steps of a ten thousandth, for every proposal: hours on the long tests.
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
    for (int height; m > 0 && std::scanf("%d", &height) == 1; --m) {
        constexpr int STEPS = 10000;
        long long dry = 0;
        for (int i = 1; i < n; ++i)
            for (int step = 0; step < STEPS; ++step)
                dry += readings[i - 1] + (readings[i] - readings[i - 1]) * (step + 0.5) / STEPS <= height;
        std::printf("%.9f\n", static_cast<double>(dry) / STEPS);
    }
}

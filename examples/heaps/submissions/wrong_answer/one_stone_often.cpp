// Makes its heap as heavy as it must be by laying the same stone on it again and again. A validator
// that adds up what it reads, and does not look whether stones are different, would take it. Wrong
// answer.
#include <cstdio>
#include <numeric>
#include <vector>

int main() {
    int n;
    if (std::scanf("%d", &n) != 1)
        return 1;
    std::vector<int> weights(n);
    for (int& weight : weights)
        if (std::scanf("%d", &weight) != 1)
            return 1;
    const int half = std::accumulate(weights.begin(), weights.end(), 0) / 2;
    const int count = half / weights[0];
    std::printf("%d\n", count);
    for (int i = 0; i < count; ++i)
        std::printf("1 ");
    std::printf("\n");
}

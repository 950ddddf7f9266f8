// Lists the same stone repeatedly until the heap has the right weight. A validator that adds the
// weights without checking for duplicates would accept it. Wrong answer.
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

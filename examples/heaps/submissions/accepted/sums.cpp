// Stores for each possible sum the stone that reached it first. From the best sum, it then follows
// the stones back.
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
    const int all = std::accumulate(weights.begin(), weights.end(), 0);
    std::vector<int> last(all + 1, -1);
    last[0] = n;
    for (int stone = 0; stone < n; ++stone)
        for (int sum = all; sum >= weights[stone]; --sum)
            if (last[sum] < 0 && last[sum - weights[stone]] >= 0)
                last[sum] = stone;
    int sum = all / 2;
    while (last[sum] < 0)
        --sum;
    std::vector<int> heap;
    for (; sum > 0; sum -= weights[heap.back()])
        heap.push_back(last[sum]);
    std::printf("%zu\n", heap.size());
    for (int stone : heap)
        std::printf("%d ", stone + 1);
    std::printf("\n");
}

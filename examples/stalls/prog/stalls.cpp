// The model solution. It computes the greatest pay of the first i stalls for each i, and then finds
// the stalls from the end.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <vector>

int main() {
    int n;
    std::cin >> n;
    std::vector<std::int64_t> pays(n + 1), best(n + 1);
    for (int i = 1; i <= n; ++i) {
        std::cin >> pays[i];
        best[i] = std::max(best[i - 1], pays[i] + (i > 1 ? best[i - 2] : 0));
    }
    std::cout << best[n] << '\n';
    for (int i = n; i > 0;)
        if (best[i] == best[i - 1]) {
            --i;
        } else {
            std::cout << i << ' ';
            i -= 2;
        }
    std::cout << '\n';
}

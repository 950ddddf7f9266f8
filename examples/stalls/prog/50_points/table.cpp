// Uses a square table with room for 500 stalls, and writes far past its end in group 3: SIGSEGV.
// Groups 1 and 2: 50 points.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <vector>

constexpr int MOST = 500;
// best[a][b] is the greatest pay of stalls a to b.
static std::int64_t best[MOST + 2][MOST + 2], pays[MOST + 2];

int main() {
    int n;
    std::cin >> n;
    for (int i = 1; i <= n; ++i)
        std::cin >> pays[i];
    for (int b = 1; b <= n; ++b)
        for (int a = b; a > 0; --a)
            best[a][b] = std::max(best[a][b - 1], pays[b] + (b - 2 >= a ? best[a][b - 2] : 0));
    std::cout << best[1][n] << '\n';
    for (int i = n; i > 0;)
        if (best[1][i] == best[1][i - 1]) {
            --i;
        } else {
            std::cout << i << ' ';
            i -= 2;
        }
}

// The model solution. It produces the answers, and time limits are derived from its times.
#include <iostream>

int main() {
    std::ios::sync_with_stdio(false);
    std::cin.tie(nullptr);
    int n;
    std::cin >> n;
    long long sum = 0, number;
    while (n-- > 0 && std::cin >> number)
        sum += number;
    std::cout << sum << '\n';
}

// Stores the pay of every choice of stalls. The number of choices grows exponentially, so group 2
// exceeds any memory limit. Group 1: 20 points.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <vector>

struct Choice {
    std::int64_t paid = 0;
    // Has room for the largest test of group 2, so that the memory is soon used up.
    bool used[500] = {};
};

int main() {
    int n;
    std::cin >> n;
    // Choices that end with a stall in use, and the others.
    std::vector<Choice> with, without(1);
    for (int i = 0; i < n; ++i) {
        std::int64_t pays;
        std::cin >> pays;
        std::vector<Choice> next = without;
        for (Choice& choice : next) {
            choice.paid += pays;
            choice.used[i] = true;
        }
        without.insert(without.end(), with.begin(), with.end());
        with = std::move(next);
    }
    without.insert(without.end(), with.begin(), with.end());
    const auto less = [](const Choice& a, const Choice& b) { return a.paid < b.paid; };
    const Choice& best = *std::max_element(without.begin(), without.end(), less);
    std::cout << best.paid << '\n';
    for (int i = 0; i < n; ++i)
        if (best.used[i])
            std::cout << i + 1 << ' ';
}

// Several files are one program: a directory, two sources and a header. Bends of the curve are
// sorted, and looked up.
#include "tide.h"
#include <iomanip>
#include <iostream>

int main() {
    int n, m;
    std::cin >> n >> m;
    std::vector<int> readings(n);
    for (int& height : readings)
        std::cin >> height;
    const Tide tide(readings);
    std::cout << std::fixed << std::setprecision(9);
    for (int height; m > 0 && std::cin >> height; --m)
        std::cout << tide.minutes(height) << '\n';
}

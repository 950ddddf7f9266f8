// A program of several files: a directory with two sources and a header. It sorts the bends of the
// curve and searches them for each height.
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

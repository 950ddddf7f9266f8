// Answers with the middle section without asking. Wrong answer.
#include <iostream>

int main() {
    int n, q;
    std::cin >> n >> q;
    std::cout << "! " << (n + 1) / 2 << std::endl;
}

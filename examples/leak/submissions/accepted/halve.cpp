// Digs in the middle of the remaining sections. std::endl flushes each line.
#include <iostream>
#include <string>

int main() {
    int n, q;
    std::cin >> n >> q;
    int first = 1, last = n;
    while (first < last) {
        const int middle = (first + last + 1) / 2;
        std::cout << "? " << middle << std::endl;
        std::string answer;
        std::cin >> answer;
        if (answer == "wet")
            first = middle;
        else
            last = middle - 1;
    }
    std::cout << "! " << first << std::endl;
}

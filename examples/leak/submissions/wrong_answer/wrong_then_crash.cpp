// Gives a wrong answer, waits until the interactor has gone, and crashes. The interactor had decided
// before: wrong answer, not a run-time error.
#include <cstdlib>
#include <iostream>
#include <string>

int main() {
    std::cout << "! 1" << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
    }
    std::abort();
}

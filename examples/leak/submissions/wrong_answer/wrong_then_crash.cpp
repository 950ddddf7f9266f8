// Gives a wrong answer, waits until the interactor has exited, and crashes. The interactor decided
// first: wrong answer, not a run-time error.
#include <cstdlib>
#include <iostream>
#include <string>

int main() {
    std::cout << "! 1" << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
    }
    std::abort();
}

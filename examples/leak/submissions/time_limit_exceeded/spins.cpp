// Asks a question and runs in a circle. The interactor waits and needs no CPU time; the limit on this
// one's ends it.
#include <iostream>

int main() {
    std::cout << "? 1" << std::endl;
    for (volatile unsigned i = 0;; i = i + 1) {
    }
}

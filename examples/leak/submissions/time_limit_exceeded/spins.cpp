// Asks a question and spins. The interactor waits without using CPU time. The submission's own CPU
// time limit ends it.
#include <iostream>

int main() {
    std::cout << "? 1" << std::endl;
    for (volatile unsigned i = 0;; i = i + 1) {
    }
}

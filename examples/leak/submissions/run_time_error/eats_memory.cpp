// Asks a question and allocates memory endlessly. The kernel kills the program at the memory limit.
// If only the address space is limited, the program ends by std::bad_alloc and SIGABRT. The kernel
// must not kill the interactor, which is waiting at the same time.
#include <cstring>
#include <iostream>

int main() {
    std::cout << "? 1" << std::endl;
    for (;;) {
        char* volatile part = new char[1 << 20];
        std::memset(part, 1, 1 << 20);
    }
}

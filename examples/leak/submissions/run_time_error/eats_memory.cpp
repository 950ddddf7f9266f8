// Asks a question and allocates memory without end. The kernel kills it at the memory limit. If
// only the address space is limited, it ends by std::bad_alloc and SIGABRT. The kernel must not
// kill the interactor, which waits beside it.
#include <cstring>
#include <iostream>

int main() {
    std::cout << "? 1" << std::endl;
    for (;;) {
        char* volatile part = new char[1 << 20];
        std::memset(part, 1, 1 << 20);
    }
}

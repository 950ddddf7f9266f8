// Asks a question and takes memory until there is none. The kernel ends it at the memory limit, or,
// where only its address space is limited, std::bad_alloc does, by SIGABRT. The interactor, which
// waits beside it, must not be the one that is ended.
#include <cstring>
#include <iostream>

int main() {
    std::cout << "? 1" << std::endl;
    for (;;) {
        char* volatile part = new char[1 << 20];
        std::memset(part, 1, 1 << 20);
    }
}

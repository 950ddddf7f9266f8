// Two programs that nobody wants on a machine: `hostile forks` starts processes until it is
// ended, `hostile memory` takes memory until it is ended.

#include <iostream>
#include <new>
#include <string>
#include <unistd.h>
#include <vector>

int main(int argc, char **argv) {
    std::string what = argc == 2 ? argv[1] : "";
    if (what == "forks") {
        for (;;) fork();
    }
    if (what == "memory") {
        try {
            for (std::vector<std::string> all;;) all.emplace_back(1 << 20, 'x');
        } catch (const std::bad_alloc &) {
            std::cerr << "no more memory\n";
            return 1;
        }
    }
    std::cerr << "usage: hostile forks|memory\n";
    return 2;
}

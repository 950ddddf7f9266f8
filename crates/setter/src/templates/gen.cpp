// Generates an input: gen N LIMIT [SEED] prints N numbers, each from -LIMIT to LIMIT. If LIMIT
// begins with +, each number is equal to LIMIT. SEED defaults to the variable SIP_TEST_SEED.
//
// The same arguments produce the same input with every compiler. The distributions of <random>
// differ between compilers, so this program does not use them.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

static std::uint64_t state;

// splitmix64
static std::uint64_t next() {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

int main(int argc, char **argv) {
    const char *seed = argc > 3 ? argv[3] : std::getenv("SIP_TEST_SEED");
    if (argc < 3 || seed == nullptr) {
        std::cerr << "usage: gen N LIMIT [SEED]\n";
        return 1;
    }
    state = std::stoull(seed);
    const long long n = std::stoll(argv[1]), limit = std::stoll(argv[2]);
    const bool greatest = argv[2][0] == '+';
    std::cout << n << '\n';
    for (long long i = 0; i < n; i++) {
        const long long number =
            greatest ? limit : static_cast<long long>(next() % (2 * limit + 1)) - limit;
        std::cout << number << (i + 1 < n ? ' ' : '\n');
    }
}

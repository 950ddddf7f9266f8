// Generates an input: gen N [SEED] prints N and a secret number from 1 to N. SEED defaults to the
// variable SIP_TEST_SEED. If SEED is `last`, the secret is N.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

// splitmix64
static std::uint64_t mix(std::uint64_t seed) {
    std::uint64_t z = seed + 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

int main(int argc, char **argv) {
    const char *seed = argc > 2 ? argv[2] : std::getenv("SIP_TEST_SEED");
    if (argc < 2 || seed == nullptr) {
        std::cerr << "usage: gen N [SEED]\n";
        return 1;
    }
    const std::uint64_t n = std::stoull(argv[1]);
    const std::uint64_t secret = std::string(seed) == "last" ? n : mix(std::stoull(seed)) % n + 1;
    std::cout << n << ' ' << secret << '\n';
}

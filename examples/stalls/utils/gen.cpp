// gen KIND N MOST: a row of N stalls, each of which pays 1 to MOST.
//
//   random  independent values
//   greedy  one stall pays a little more than each of its neighbours, but less than both together
//   waves   neighbours pay nearly the same, so the best choice alternates between odd and even
//           stalls
//
// Sip passes the seed and the test's name in the environment. The program derives numbers only from
// the engine's words, because the distributions of the standard library differ between libraries.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

int main(int count, char** arguments) {
    const char* seed = std::getenv("SIP_TEST_SEED");
    if (count != 4 || !seed) {
        std::cerr << "usage: SIP_TEST_SEED=NUMBER gen random|greedy|waves N MOST\n";
        return 1;
    }
    const std::string kind = arguments[1];
    const int n = std::atoi(arguments[2]);
    const std::uint64_t most = std::strtoull(arguments[3], nullptr, 10);
    std::mt19937_64 engine(std::strtoull(seed, nullptr, 10));
    const auto upto = [&](std::uint64_t most) { return engine() % most + 1; };
    if ((kind != "random" && kind != "greedy" && kind != "waves") || n < 1 || most < 10) {
        std::cerr << "gen: no such kind of test, or too small\n";
        return 1;
    }
    std::cout << n << '\n';
    std::uint64_t base = 0;
    for (int i = 0; i < n; ++i) {
        std::uint64_t pays;
        if (kind == "random") {
            pays = upto(most);
        } else if (kind == "greedy") {
            // Three stalls that pay 90, 100 and 90, and then one with a small value.
            const std::uint64_t part[] = {9, 10, 9, 1};
            if (i % 4 == 0)
                base = upto(most / 10);
            pays = base * part[i % 4];
        } else {
            if (i % 8 == 0)
                base = upto(most / 2);
            pays = base + upto(most / 20);
        }
        std::cout << (i > 0 ? " " : "") << pays;
    }
    std::cout << '\n';
}

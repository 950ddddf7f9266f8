// Wrong: the sum does not fit into 32 bits. A test must reject it.
#include <cstdint>
#include <iostream>

int main() {
    int n;
    std::cin >> n;
    std::uint32_t sum = 0;
    std::int64_t number;
    while (n-- > 0 && std::cin >> number)
        sum += static_cast<std::uint32_t>(number);
    std::cout << static_cast<std::int32_t>(sum) << '\n';
}

#include <vector>

int main() {
    std::vector<std::vector<char>> blocks;
    for (;;)
        blocks.emplace_back(1 << 20, 1);
}

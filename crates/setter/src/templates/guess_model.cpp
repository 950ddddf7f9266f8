// The model solution: binary search.
#include <iostream>
#include <string>

int main() {
    long long low = 1, high;
    std::cin >> high;
    std::string answer;
    while (answer != "=") {
        const long long middle = low + (high - low) / 2;
        // endl flushes the buffer. The judge waits for the question.
        std::cout << middle << std::endl;
        if (!(std::cin >> answer))
            return 1;
        if (answer == "<")
            high = middle - 1;
        else
            low = middle + 1;
    }
}

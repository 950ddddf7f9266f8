// Finds the leak, closes its input and output, runs for another tenth of a second and exits with 0.
// This is allowed: accepted.
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <unistd.h>

int main() {
    int n, q;
    std::cin >> n >> q;
    int first = 1, last = n;
    while (first < last) {
        const int middle = (first + last + 1) / 2;
        std::cout << "? " << middle << std::endl;
        std::string answer;
        std::cin >> answer;
        if (answer == "wet")
            first = middle;
        else
            last = middle - 1;
    }
    std::cout << "! " << first << std::endl;
    close(0);
    close(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

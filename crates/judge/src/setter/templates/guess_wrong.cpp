// Wrong: asks for one number after the other, which takes too many questions. Some test must catch it.
#include <iostream>
#include <string>

int main() {
    long long n;
    std::cin >> n;
    std::string answer;
    for (long long guess = 1; guess <= n && answer != "="; guess++) {
        std::cout << guess << std::endl;
        if (!(std::cin >> answer))
            return 0;
    }
}

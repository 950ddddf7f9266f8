// Wrong: tries one number after another and asks too many questions. A test must reject it.
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

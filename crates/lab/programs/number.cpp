// Reads and prints a number: a short C++ program with the start of the standard streams.
#include <iostream>

int main()
{
    long number = 0;
    std::cin >> number;
    std::cout << number << '\n';
}

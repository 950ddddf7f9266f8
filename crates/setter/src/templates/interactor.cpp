// Communicates with the submission: standard input is the submission's output, and standard output
// is the submission's input.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

{{answers}}
int main(int, char **argv) {
    std::ifstream input(argv[1]);
    long long n, secret;
    input >> n >> secret;
    std::cout << n << std::endl;
    for (int questions = 1; questions <= 30; questions++) {
        long long guess;
        if (!(std::cin >> guess))
            refuse(argv, "expected a number, but the output ended");
        if (guess < 1 || guess > n)
            refuse(argv, std::to_string(guess) + " is not from 1 to " + std::to_string(n));
        std::cout << (secret < guess ? "<" : secret > guess ? ">" : "=") << std::endl;
        if (guess == secret)
            accept(std::to_string(questions) + " questions");
    }
    refuse(argv, "not found with 30 questions");
}

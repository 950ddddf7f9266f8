// Accepts (exit status 42) exactly the inputs that the statement allows.
#include <cctype>
#include <cstdio>
#include <cstdlib>

[[noreturn]] static void fail(const char* why) {
    std::puts(why);
    std::exit(43);
}

// Reads a number without leading zeros and the character after it.
static int number(int least, int most, int after) {
    int value = 0, c = std::getchar();
    if (c == '0' || !std::isdigit(c))
        fail("a number from 1 on is missing");
    for (; std::isdigit(c); c = std::getchar()) {
        value = 10 * value + (c - '0');
        if (value > most)
            fail("a number is too great");
    }
    if (value < least)
        fail("a number is too small");
    if (c != after)
        fail("after a number comes one space, after a line's last the end of the line");
    return value;
}

int main() {
    const int n = number(1, 60, '\n');
    for (int i = 1; i <= n; ++i)
        number(1, 1000, i < n ? ' ' : '\n');
    if (std::getchar() != EOF)
        fail("something comes after the last line");
    return 42;
}

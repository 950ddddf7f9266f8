// Accepts (exit status 42) exactly the inputs that the statement allows, byte by byte.
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <string>

static int line = 1;

[[noreturn]] static void refuse(const std::string &why) {
    std::cerr << "line " << line << ": " << why << '\n';
    std::exit(43);
}

static long long number(long long least, long long most) {
    std::string text;
    if (std::cin.peek() == '-')
        text += static_cast<char>(std::cin.get());
    while (std::isdigit(std::cin.peek()) && text.size() < 12)
        text += static_cast<char>(std::cin.get());
    const std::string digits = text[0] == '-' ? text.substr(1) : text;
    if (digits.empty() || (digits[0] == '0' && text != "0"))
        refuse("expected a number without leading zeros");
    const long long value = std::stoll(text);
    if (value < least || value > most)
        refuse(text + " is not from " + std::to_string(least) + " to " + std::to_string(most));
    return value;
}

static void character(char wanted) {
    if (std::cin.get() != wanted)
        refuse(wanted == '\n' ? "expected the end of the line" : "expected one space");
    if (wanted == '\n')
        line++;
}

int main() {
{{input}}    if (std::cin.peek() != std::char_traits<char>::eof())
        refuse("expected the end of the input");
    return 42;
}

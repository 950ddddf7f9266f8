// check INPUT ANSWER OUTPUT prints OK or WRONG, a percentage and a comment, and exits with 0. Any
// other exit status means that the checker failed.
//
// The sum is worth 60 %, and the choice of stalls the rest. The output is untrusted: the checker
// reads little more than LONGEST characters of a word, and does not repeat words in the comment,
// where a judge might mistake them for part of the result.
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

[[noreturn]] static void say(const char* verdict, const char* percent, const std::string& comment) {
    std::cout << verdict << '\n' << percent << '\n' << comment << '\n';
    std::exit(0);
}

[[noreturn]] static void fail(const std::string& why) {
    std::cerr << why << '\n';
    std::exit(1);
}

// Returns the next word if it is a whole number of at most 18 digits.
static std::optional<std::int64_t> number(std::istream& from) {
    constexpr int LONGEST = 18;
    std::string word;
    from >> std::ws;
    for (int c; word.size() <= LONGEST && (c = from.peek()) != EOF && !std::isspace(c); from.get())
        word += static_cast<char>(c);
    const bool digits = word.find_first_not_of("0123456789") == std::string::npos;
    if (word.empty() || word.size() > LONGEST || !digits)
        return std::nullopt;
    return std::stoll(word);
}

static bool at_end(std::istream& from) {
    return (from >> std::ws).peek() == EOF;
}

int main(int count, char** arguments) {
    if (count != 4)
        fail("usage: check INPUT ANSWER OUTPUT");
    std::ifstream input(arguments[1]), answer(arguments[2]), output(arguments[3]);
    const auto n = number(input);
    if (!n)
        fail("the input does not begin with a number");
    std::vector<std::int64_t> pays(*n);
    for (auto& pay : pays) {
        const auto value = number(input);
        if (!value)
            fail("the input has not enough numbers");
        pay = *value;
    }
    const auto best = number(answer);
    if (!best)
        fail("the answer does not begin with a number");
    if (!output)
        fail("the output cannot be read");

    const auto sum = number(output);
    if (!sum)
        say("WRONG", "", "the output does not begin with a number");
    if (*sum != *best)
        say("WRONG", "", "the sum is " + std::to_string(*sum) + ", but the greatest is "
                             + std::to_string(*best));
    std::vector<bool> used(pays.size() + 2);
    std::int64_t paid = 0;
    while (!at_end(output)) {
        const auto stall = number(output);
        if (!stall || *stall < 1 || *stall > *n)
            say("OK", "60", "the sum is right; among the stalls is something that is none");
        if (used[*stall])
            say("OK", "60", "the sum is right; stall " + std::to_string(*stall)
                                + " is listed twice");
        used[*stall] = true;
        paid += pays[*stall - 1];
    }
    for (std::size_t stall = 1; stall <= pays.size(); ++stall)
        if (used[stall] && used[stall + 1])
            say("OK", "60", "the sum is right; stalls " + std::to_string(stall)
                                + " and the next are neighbours");
    if (paid != *best)
        say("OK", "60", "the sum is right; the stalls pay " + std::to_string(paid));
    say("OK", "100", "the sum and the stalls are right");
}

// meadow INPUT ANSWER FEEDBACK_DIRECTORY, connected to the submission's output and input
//
// Keeps track of the sections that can have the leak, given all replies so far. If the leak is
// fixed, it determines each reply. Otherwise the leak is placed in the larger remaining part, so
// guessing never helps.
#include "interactor.h"
#include <algorithm>
#include <csignal>
#include <fstream>
#include <iostream>

constexpr int ACCEPTED = 42, WRONG = 43, FAILED = 1;

static std::string play(long sections, int questions, long leak) {
    // Writing to a submission that has ended must not kill the validator.
    std::signal(SIGPIPE, SIG_IGN);
    say(std::to_string(sections) + " " + std::to_string(questions));
    long first = 1, last = sections;
    for (int asked = 0;;) {
        const Said said = hear(sections);
        if (said.kind == '!') {
            if (leak != 0 && said.section != leak)
                throw Wrong("section " + std::to_string(said.section) + " has no leak, section "
                            + std::to_string(leak) + " has");
            if (leak == 0 && (first != last || said.section != first))
                throw Wrong("the leak may be anywhere from section " + std::to_string(first)
                            + " to " + std::to_string(last) + ", but the answer is "
                            + std::to_string(said.section));
            return "found after " + std::to_string(asked) + " of " + std::to_string(questions)
                   + " questions";
        }
        if (asked++ == questions)
            throw Wrong("more than " + std::to_string(questions) + " questions");
        const long dry = std::max(0L, std::min(said.section - 1, last) - first + 1);
        const bool wet = leak != 0 ? said.section <= leak : last - first + 1 - dry >= dry;
        if (wet)
            first = std::max(first, said.section);
        else
            last = std::min(last, said.section - 1);
        say(wet ? "wet" : "dry");
    }
}

int main(int count, char** arguments) {
    if (count < 4) {
        std::cerr << "usage: meadow INPUT ANSWER FEEDBACK_DIRECTORY\n";
        return FAILED;
    }
    std::ifstream input(arguments[1]);
    long sections, leak;
    int questions;
    if (!(input >> sections >> questions >> leak)) {
        std::cerr << arguments[1] << ": not n, q and p\n";
        return FAILED;
    }
    std::string message;
    int verdict = ACCEPTED;
    try {
        message = play(sections, questions, leak);
    } catch (const Wrong& wrong) {
        message = wrong.what();
        verdict = WRONG;
    }
    std::ofstream judges(std::string(arguments[3]) + "/judgemessage.txt");
    judges << message << '\n';
    return judges.flush() ? verdict : FAILED;
}

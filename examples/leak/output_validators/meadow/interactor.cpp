#include "interactor.h"
#include <cerrno>
#include <unistd.h>

static std::string line_of_submission() {
    constexpr std::size_t LONGEST = 40;
    std::string line;
    // Reads single bytes, so that it consumes no more input from the submission after the answer.
    for (char c; line.size() < LONGEST;) {
        const ssize_t length = read(STDIN_FILENO, &c, 1);
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            throw Wrong(line.empty() ? "ended without an answer" : "ended within a line");
        if (c == '\n')
            return line;
        line += c;
    }
    throw Wrong("a line is longer than " + std::to_string(LONGEST) + " bytes");
}

Said hear(long sections) {
    std::string line = line_of_submission();
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r'))
        line.pop_back();
    // The message does not quote the line, which may contain anything.
    if (line.size() < 3 || (line[0] != '?' && line[0] != '!') || line[1] != ' ')
        throw Wrong("a line is neither `? i` nor `! i`");
    if (line.size() > 9 || line.find_first_not_of("0123456789", 2) != std::string::npos)
        throw Wrong("`?` or `!` is not followed by a section number");
    const long section = std::stol(line.substr(2));
    if (section < 1 || section > sections)
        throw Wrong("there is no section " + std::to_string(section));
    return {line[0], section};
}

void say(const std::string& line) {
    const std::string bytes = line + "\n";
    // Uses a single write, so that a line is never split.
    while (write(STDOUT_FILENO, bytes.data(), bytes.size()) < 0 && errno == EINTR) {
    }
}

// What the submission says and hears.
#pragma once
#include <stdexcept>
#include <string>

/// The submission broke a rule: wrong answer, for this reason.
struct Wrong : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// What the submission says next.
struct Said {
    /// `?` or `!`
    char kind;
    long section;
};

/// Reads a line, of which no more is kept than a right one could need: a submission may talk
/// without end.
Said hear(long sections);

/// Says a line, at once. A submission that does not listen any more is no error: what it says, or
/// does not say, next will tell.
void say(const std::string& line);

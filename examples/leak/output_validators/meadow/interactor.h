// The conversation with the submission.
#pragma once
#include <stdexcept>
#include <string>

/// The submission broke a rule: wrong answer, with this reason.
struct Wrong : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A question or the answer of the submission.
struct Said {
    /// `?` or `!`
    char kind;
    long section;
};

/// Reads a line, but keeps no more of it than a valid line needs, because a submission may write
/// endlessly.
Said hear(long sections);

/// Sends a line at once. It is not an error if the submission no longer reads: its next line, or
/// the end of its output, decides.
void say(const std::string& line);

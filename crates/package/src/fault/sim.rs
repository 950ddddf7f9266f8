//! Faults of Sim's format.
#![allow(
    missing_docs,
    reason = "the message of a variant describes the variant and its fields"
)]

use super::text::{Excerpt, Suggestion};

/// A fault in the syntax of a Simfile or Sipfile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigFault {
    #[error("unknown key {key:?} is ignored{suggestion}")]
    UnknownKey {
        key: Excerpt,
        suggestion: Suggestion,
    },
    #[error("the key {key:?} is repeated; the value in line {line} is not used")]
    RepeatedKey { key: Excerpt, line: u32 },
    #[error("{key} must be one value, not an array")]
    NotText { key: Excerpt },
    #[error("{key} must be an array in [ ]")]
    NotArray { key: Excerpt },
    #[error("expected a key")]
    NoKey,
    #[error("expected a colon after the key {key:?}")]
    NoColon { key: Excerpt },
    #[error("{character:?} after the value; put values with such characters in quotes")]
    AfterValue { character: char },
    #[error("{character:?} after the value; expected a comma or the end of the line")]
    AfterItem { character: char },
    #[error("the array has no end; add a ]")]
    OpenArray,
    #[error("an array within an array is not allowed")]
    NestedArray,
    #[error("the quoted value does not end on its line")]
    OpenQuote,
    #[error("the value is not UTF-8 after its escapes are replaced")]
    NotUtf8,
    #[error("unknown escape \\{character}")]
    UnknownEscape { character: char },
    #[error("\\x must be followed by two hexadecimal digits")]
    HexadecimalEscape,
}

/// A fault of a Simfile, or of the files that it names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimfileFault {
    #[error("`name` is missing")]
    NoName,
    #[error("`memory_limit` is missing, and at least one test has no limit of its own")]
    NoMemoryLimit,
    #[error("there is no statement {path:?}")]
    NoStatement { path: Excerpt },
    #[error("interactive must be true or false, but is {text:?}")]
    Interactive { text: Excerpt },
    #[error("a memory limit must be a whole number of MiB, more than 0, but is {text:?}")]
    MemoryLimit { text: Excerpt },
    #[error("there is no checker {path:?}")]
    NoChecker { path: Excerpt },
    #[error("an interactive problem needs a checker in check/ or checker/")]
    CheckerRequired,
    #[error(
        "this looks like a testlib checker; a checker of Sim prints OK or WRONG, a percentage, and \
         a comment"
    )]
    TestlibChecker,
    #[error("there is no solution {path:?}")]
    NoSolution { path: Excerpt },
    #[error("solution {path:?} is repeated")]
    RepeatedSolution { path: Excerpt },
    #[error("there is no solution, neither in `solutions` nor as another source")]
    NoSolutions,
    #[error("there are no tests, neither in `limits` nor as files NAME.in")]
    NoTests,
    #[error(
        "{key}: {name:?} is not a valid test name; it must end in the number of its group and \
         optional letters"
    )]
    TestName { key: &'static str, name: Excerpt },
    #[error("limits: {word:?} after the limits of test {test:?}")]
    AfterLimits { word: Excerpt, test: Excerpt },
    #[error(
        "limits: the time limit of test {test:?} {}; it must be more than 0 seconds and at most a \
         day",
        IsValue(.text)
    )]
    TimeLimit {
        test: Excerpt,
        /// The text that was read as the limit. `None` means that the limit is missing.
        text: Option<Excerpt>,
    },
    #[error("limits: test {test:?} is repeated; it first occurs in line {first_line}")]
    RepeatedLimits { test: Excerpt, first_line: u32 },
    #[error("not read: a test name must end in the number of its group and optional letters")]
    FileName,
    #[error("test {test:?} also has {other}; this file is used")]
    SecondFile { test: Excerpt, other: Excerpt },
    #[error("tests_files: test {test:?}: an interactive problem's test has an input file only")]
    InteractiveFiles { test: Excerpt },
    #[error("tests_files: test {test:?}: a test has an input file and an answer file")]
    Files { test: Excerpt },
    #[error("tests_files: there is no {path:?}")]
    NoFile { path: Excerpt },
    #[error("an answer without an input; there is no {test}.in")]
    AnswerWithoutInput { test: Excerpt },
    #[error("test {test:?} has no input; there is no {test}.in")]
    NoInput { test: Excerpt },
    #[error("test {test:?} has no answer; there is no {test}.out")]
    NoAnswer { test: Excerpt },
    #[error("test {test:?} has no answer yet; the model solution must make one")]
    NoAnswerYet { test: Excerpt },
    #[error("scoring: {text:?} is not a group followed by its points")]
    Scoring { text: Excerpt },
    #[error("scoring: {group:?} is not a group; groups are numbers")]
    NotGroup { group: Excerpt },
    #[error("scoring: the points of group {group} must be a whole number, not {points:?}")]
    Points { group: Excerpt, points: Excerpt },
    #[error("scoring: group {group} has no tests")]
    GroupWithoutTests { group: Excerpt },
    #[error("scoring: group {group} is repeated")]
    RepeatedGroup { group: Excerpt },
    #[error("scoring: group {group} has no points")]
    GroupWithoutPoints { group: Excerpt },
}

struct IsValue<'a>(&'a Option<Excerpt>);

impl std::fmt::Display for IsValue<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(text) => write!(f, "is {text:?}"),
            None => f.write_str("is missing"),
        }
    }
}

/// A fault of a Sipfile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SipfileFault {
    #[error("default_time_limit must be more than 0 seconds and at most a day, but is {text:?}")]
    TimeLimit { text: Excerpt },
    #[error("base_seed must be a whole number below 2^64, but is {text:?}")]
    Seed { text: Excerpt },
    #[error("not read: {word:?} after the range of tests")]
    AfterRange { word: Excerpt },
    #[error("test {test:?} is repeated in static")]
    RepeatedStatic { test: Excerpt },
    #[error("test {test:?} is repeated in gen, or is also in static")]
    Repeated { test: Excerpt },
    #[error("there is no generator after {range:?}")]
    NoCommand { range: Excerpt },
    #[error("{range:?} is not a range of tests: {fault}")]
    Range { range: Excerpt, fault: RangeFault },
    #[error(
        "{name:?} is not a valid test name; it must end in the number of its group and \
         optional letters"
    )]
    TestName { name: Excerpt },
    #[error(
        "no source below utils matches {name:?}, so it is run as a shell command; write sh:{name} \
         instead"
    )]
    ShellCommand { name: Excerpt },
    #[error(
        "the generator {name:?} is ambiguous: it may be {first} or {second}; write the whole path"
    )]
    AmbiguousGenerator {
        name: Excerpt,
        first: Excerpt,
        second: Excerpt,
    },
}

/// Why a string is not a range of tests.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RangeFault {
    #[error("nothing follows the hyphen")]
    NoEnd,
    #[error("the names at its ends have different prefixes, {first:?} and {last:?}")]
    Prefixes { first: Excerpt, last: Excerpt },
    #[error("{digits:?} is not a group number")]
    GroupNumber { digits: Excerpt },
    #[error("{first:?} and {last:?} have different lengths")]
    Lengths { first: Excerpt, last: Excerpt },
    #[error("its end comes before its beginning")]
    Reversed,
}

//! Bounds on what a package becomes when it is read.
//!
//! A few kilobytes can stand for gigabytes: YAML aliases repeat texts, ranges name tests, settings
//! are inherited by every test, and symbolic links multiply paths. Reading stops at the first bound
//! that is exceeded. The bounds are far above what real packages have, and keep reading below half
//! a gigabyte and a few seconds.

use crate::tree::{DEEPEST, MOST_ENTRIES};

/// Bytes of texts and settings: files that are read as text, and every place in which a text is
/// repeated.
pub const MOST_TEXT: u64 = 64 << 20;
/// Bytes of files that are searched but not kept, such as sources with `@EXPECTED_RESULTS@`.
pub const MOST_SEARCHED: u64 = 1 << 30;
/// Values of one YAML file, including repetitions by aliases; keys and values of a Simfile or
/// Sipfile.
pub const MOST_VALUES: usize = 100_000;
/// Different keys of a Simfile or Sipfile. The formats define ten.
pub const MOST_KEYS: usize = 1_000;
/// Tests that a Sipfile may name.
pub const MOST_TESTS: usize = 10_000;
/// Bytes of a test's name in a Sipfile. With `.out` it becomes the name of a file.
pub const LONGEST_NAME: usize = 250;
/// Words of one list of flags.
pub const MOST_WORDS: usize = 10_000;
/// Bytes of a generator's command.
pub const LONGEST_COMMAND: usize = 64 << 10;
/// Patterns in submissions.yaml.
pub const MOST_PATTERNS: usize = 1_000;
/// Bytes of such a pattern.
pub const LONGEST_PATTERN: usize = 256;
/// Submissions of a package.
pub const MOST_SUBMISSIONS: usize = 10_000;
/// Sources below `utils` among which a generator is looked up by letters of its path.
pub const MOST_UTILS: usize = 1_000;
/// Bytes of all paths of a package together.
pub const MOST_PATHS: usize = 64 << 20;

/// Bytes of an unpacked archive.
pub const MOST_UNPACKED: u64 = 4 << 30;
/// Files and directories of an archive.
pub const MOST_ARCHIVED: usize = 100_000;
/// Nested directories of an archive. Fewer are read of a package, so deeper ones only take time.
pub const DEEPEST_ARCHIVED: usize = DEEPEST + 8;
/// Bytes of the targets of an archive's links, which are kept until everything else is unpacked.
pub const MOST_LINKS: usize = 16 << 20;

/// The memory that a word takes in addition to its bytes.
const WORD: usize = 48;

/// Bytes that a list of words takes.
pub fn words_cost(words: &[String]) -> usize {
    words.iter().map(|word| word.len() + WORD).sum()
}

/// A bound that a package exceeds. Its `Display` says what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Bound {
    /// Texts and settings, including repetitions.
    #[error(
        "the package's texts come to more than {} MiB here, with aliases, ranges, constants and \
         settings of all tests counted wherever they apply; repeat less, or make long texts \
         shorter",
        MOST_TEXT >> 20
    )]
    Text,
    /// Files that are searched.
    #[error("the package's sources have more than {} MiB; remove what does not belong to it", MOST_SEARCHED >> 20)]
    Searched,
    /// Values of one file.
    #[error("more than {MOST_VALUES} values in one file, aliases counted; write fewer")]
    Values,
    /// Keys of one file.
    #[error("more than {MOST_KEYS} different keys in one file; remove those that mean nothing")]
    Keys,
    /// Tests that one file names.
    #[error("this file names more than {MOST_TESTS} tests; make fewer")]
    TestsOfFile,
    /// The name of a test.
    #[error("the name of a test has more than {LONGEST_NAME} bytes; shorten it")]
    TestName,
    /// Words of one list.
    #[error("more than {MOST_WORDS} words in one list; write fewer")]
    Words,
    /// A generator's command.
    #[error("a command of more than {} KiB; let the generator read a file", LONGEST_COMMAND >> 10)]
    Command,
    /// Patterns in submissions.yaml.
    #[error(
        "more than {MOST_PATTERNS} patterns, or one of more than {LONGEST_PATTERN} bytes; write \
         fewer and shorter ones"
    )]
    Patterns,
    /// Submissions.
    #[error("more than {MOST_SUBMISSIONS} submissions; remove some")]
    Submissions,
    /// Sources below `utils`.
    #[error(
        "there are more than {MOST_UTILS} sources below utils to look for this in; write the \
         generator's whole path"
    )]
    Utils,
    /// Files and directories.
    #[error(
        "has more than {MOST_ENTRIES} files, symbolic links counted ten times; remove what does \
         not belong to it"
    )]
    Files,
    /// Paths of files and directories.
    #[error(
        "the paths of the package's files have more than {} MiB together; use shorter names and \
         fewer symbolic links",
        MOST_PATHS >> 20
    )]
    Paths,
    /// Bytes of an archive, unpacked.
    #[error("the archive has more than {} GiB unpacked; pack less", MOST_UNPACKED >> 30)]
    Unpacked,
    /// Entries of an archive.
    #[error("the archive has more than {MOST_ARCHIVED} entries; pack less")]
    Archived,
    /// Directories of an archive.
    #[error(
        "the archive has more than {MOST_ENTRIES} directories, or some nested deeper than \
         {DEEPEST_ARCHIVED}; remove what does not belong to it"
    )]
    Directories,
    /// Texts of an archive's symbolic links.
    #[error("the archive's symbolic links have more than {} MiB together; pack files instead", MOST_LINKS >> 20)]
    Links,
}

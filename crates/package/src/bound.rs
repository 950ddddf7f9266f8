//! Bounds on the size of a package that is read.
//!
//! A few kilobytes can represent gigabytes: YAML aliases repeat strings, ranges name tests, every
//! test inherits the settings of its groups, and symbolic links multiply paths. Reading stops at
//! the first bound that is exceeded. The bounds are far above the size of real packages. Within
//! them, reading needs less than half a gigabyte of memory and a few seconds.

/// Maximum number of files and directories of a package.
pub const MAX_ENTRIES: usize = 200_000;
/// Maximum depth of nested directories of a package.
pub const MAX_DEPTH: usize = 32;
/// Maximum total number of bytes of strings and settings: files that are read as text, and every
/// place that repeats a string.
pub const MAX_TEXT_BYTES: u64 = 64 << 20;
/// Maximum number of bytes of files that are searched but not kept, such as sources with
/// `@EXPECTED_RESULTS@`.
pub const MAX_SEARCHED_BYTES: u64 = 1 << 30;
/// Maximum number of values in one file: in a YAML file, including repetitions by aliases; in a
/// Simfile or Sipfile, keys and values.
pub const MAX_VALUES: usize = 100_000;
/// Maximum number of different keys of a Simfile or Sipfile. The formats define ten.
pub const MAX_KEYS: usize = 1_000;
/// Maximum number of tests that a Sipfile may name.
pub const MAX_TESTS: usize = 10_000;
/// Maximum length of a test's name in a Sipfile, in bytes. The name with `.out` appended is a file
/// name.
pub const MAX_NAME_BYTES: usize = 250;
/// Maximum number of words in one list of flags.
pub const MAX_WORDS: usize = 10_000;
/// Maximum length of a generator's command in bytes.
pub const MAX_COMMAND_BYTES: usize = 64 << 10;
/// Maximum number of patterns in submissions.yaml.
pub const MAX_PATTERNS: usize = 1_000;
/// Maximum length of a pattern in submissions.yaml, in bytes.
pub const MAX_PATTERN_BYTES: usize = 256;
/// Maximum number of submissions of a package.
pub const MAX_SUBMISSIONS: usize = 10_000;
/// Maximum number of sources below `utils` that are searched for a generator by letters of its
/// path.
pub const MAX_UTILS_SOURCES: usize = 1_000;
/// Maximum total number of bytes of all paths of a package.
pub const MAX_PATH_BYTES: usize = 64 << 20;

/// Maximum number of bytes of an unpacked archive.
pub const MAX_UNPACKED_BYTES: u64 = 4 << 30;
/// Maximum number of files and directories in an archive.
pub const MAX_ARCHIVE_ENTRIES: usize = 100_000;
/// Maximum depth of nested directories of an archive. Unpacking more levels would only cost time,
/// because reading stops at [`MAX_DEPTH`].
pub const MAX_ARCHIVE_DEPTH: usize = MAX_DEPTH + 8;
/// Maximum total number of bytes of the targets of an archive's links. The targets are kept until
/// all files are unpacked.
pub const MAX_LINK_TARGET_BYTES: usize = 16 << 20;

/// Bytes of memory that a word needs in addition to its own bytes.
const WORD_OVERHEAD_BYTES: usize = 48;

/// Returns the number of bytes that a list of words occupies.
pub fn words_cost(words: &[String]) -> usize {
    words
        .iter()
        .map(|word| word.len() + WORD_OVERHEAD_BYTES)
        .sum()
}

/// A bound that a package exceeds. Its `Display` names the remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Bound {
    /// Texts and settings, including repetitions.
    #[error(
        "the package's strings exceed {} MiB here, counting aliases, ranges, constants and \
         settings once for each test; repeat less, or shorten long strings",
        MAX_TEXT_BYTES >> 20
    )]
    Text,
    /// Files that are searched.
    #[error(
        "the package's sources exceed {} MiB; remove files that do not belong to it",
        MAX_SEARCHED_BYTES >> 20
    )]
    Searched,
    /// Values of one file.
    #[error("more than {MAX_VALUES} values in one file, including aliases; write fewer")]
    Values,
    /// Keys of one file.
    #[error("more than {MAX_KEYS} different keys in one file; remove unknown keys")]
    Keys,
    /// Tests that one file names.
    #[error("the file names more than {MAX_TESTS} tests; name fewer")]
    TestsOfFile,
    /// A test name.
    #[error("a test name is longer than {MAX_NAME_BYTES} bytes; shorten it")]
    TestName,
    /// Words of one list.
    #[error("more than {MAX_WORDS} words in one list; write fewer")]
    Words,
    /// A generator's command.
    #[error(
        "a command is longer than {} KiB; let the generator read a file",
        MAX_COMMAND_BYTES >> 10
    )]
    Command,
    /// Patterns in submissions.yaml.
    #[error(
        "more than {MAX_PATTERNS} patterns, or a pattern of more than {MAX_PATTERN_BYTES} bytes; \
         write fewer and shorter ones"
    )]
    Patterns,
    /// Submissions.
    #[error("more than {MAX_SUBMISSIONS} submissions; remove some")]
    Submissions,
    /// Sources below `utils`.
    #[error(
        "more than {MAX_UTILS_SOURCES} sources below utils; write the whole path of the generator"
    )]
    Utils,
    /// Files and directories.
    #[error(
        "more than {MAX_ENTRIES} files, where a symbolic link counts as ten; remove files that do \
         not belong to the package"
    )]
    Files,
    /// Paths of files and directories.
    #[error(
        "the paths of the package's files exceed {} MiB; use shorter names and fewer symbolic \
         links",
        MAX_PATH_BYTES >> 20
    )]
    Paths,
    /// Bytes of an archive, unpacked.
    #[error("the unpacked archive exceeds {} GiB; pack less", MAX_UNPACKED_BYTES >> 30)]
    Unpacked,
    /// Entries of an archive.
    #[error("the archive has more than {MAX_ARCHIVE_ENTRIES} entries; pack less")]
    Archived,
    /// Directories of an archive.
    #[error(
        "the archive has more than {MAX_ENTRIES} directories, or directories nested deeper than \
         {MAX_ARCHIVE_DEPTH}; remove those that do not belong to it"
    )]
    Directories,
    /// Targets of an archive's symbolic links.
    #[error(
        "the targets of the archive's symbolic links exceed {} MiB; pack files instead",
        MAX_LINK_TARGET_BYTES >> 20
    )]
    Links,
}

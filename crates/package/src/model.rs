//! The model of a problem, independent of its package format.
//!
//! The enums that determine how a problem is judged or its tests are generated are exhaustive: a
//! judge must handle each value, and the compiler shows where it does not.

use crate::archive::Unpacked;
use crate::constants::Constants;
use crate::fault::Fault;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The format of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The ICPC problem package format, version `legacy` (problemtools, DOMjudge).
    Legacy,
    /// The ICPC problem package format, versions `2023-07` and `2025-09`.
    Icpc2023,
    /// Sim's format, with a Simfile.
    Sim,
}

/// A problem package.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The directory of the package, or the directory to which an archive was unpacked.
    pub directory: PathBuf,
    /// The format that was detected.
    pub format: Format,
    /// The format version that the package states; `None` if it states none.
    pub version: Option<String>,
    /// The title: in English if available, and otherwise in the language that the package names
    /// first.
    pub name: String,
    /// The short name: the directory's name for ICPC packages, the label for Sim packages.
    pub label: String,
    /// How the submission communicates with the judge.
    pub kind: Kind,
    /// How outputs are judged, or which interactor communicates with the submission.
    pub checker: Checker,
    /// Flags of the checker for tests without flags of their own.
    pub checker_flags: Vec<String>,
    /// Whether submissions receive points.
    pub scoring: Scoring,
    /// A program that computes the verdict and points of groups that request it
    /// ([`Rules::grader`]). It computes them from the results of the groups' parts. It reads one
    /// line `VERDICT SCORE` for each part, in order, and prints one such line for the group.
    pub grader: Option<Program>,
    /// Limits of all runs.
    pub limits: Limits,
    /// All tests as a tree. The root contains no tests directly.
    pub root: Group,
    /// The submissions in judging order: the model solution first.
    pub submissions: Vec<Submission>,
    /// Validators, each of which must accept every input.
    pub input_validators: Vec<Program>,
    /// Inputs and outputs that test the validators and the checker (ICPC). Judging ignores them.
    pub probes: Vec<Probe>,
    /// How inputs are generated, if the package describes this. For ICPC packages, only
    /// [`crate::read_unfinished`] reads it, because judging does not need it.
    pub generators: Vec<Generation>,
    /// Files that are added to every submission before it is compiled. The directory contains one
    /// directory for each language, and `default` for all other languages (ICPC `include`).
    pub include: Option<PathBuf>,
    /// The file with the statement, if the package names one (Sim). ICPC packages use directories
    /// with fixed names instead.
    pub statement: Option<PathBuf>,
    /// Names and values of the placeholders in the package's programs and in `include` (2025-09).
    pub constants: Constants,
    /// Faults that do not prevent judging.
    pub warnings: Vec<Fault>,
    /// Keeps the directory to which an archive was unpacked.
    pub unpacked: Option<Arc<Unpacked>>,
}

impl Problem {
    /// Returns all tests in judging order.
    pub fn tests(&self) -> impl Iterator<Item = &Test> {
        self.root.all_tests()
    }

    /// Returns all groups, each before the groups in it. The root comes first.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.root.groups()
    }

    /// Returns the group with this name.
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups().find(|group| group.name == name)
    }

    /// Returns the test with this name.
    pub fn test(&self, name: &str) -> Option<&Test> {
        self.tests().find(|test| test.name == name)
    }

    /// Returns the first submission that must be accepted. Its times and answers are the reference.
    pub fn model_solution(&self) -> Option<&Submission> {
        self.submissions
            .iter()
            .find(|submission| submission.expected == [Expected::Accepted])
    }

    /// Returns the path to show to a user: below the archive, if the package was unpacked from one.
    pub fn shown(&self, path: &Path) -> PathBuf {
        match &self.unpacked {
            Some(unpacked) => unpacked.shown(path),
            None => path.to_owned(),
        }
    }
}

/// How the submission communicates with the judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The submission reads standard input and writes standard output.
    Batch,
    /// The submission communicates with an interactor.
    Interactive,
    /// The submission runs several times. The validator's output in one pass is the input of the
    /// next pass (2023-07 `multi-pass`).
    MultiPass {
        /// Maximum number of passes.
        passes: u32,
        /// Whether the submission communicates with an interactor in each pass.
        interactive: bool,
    },
}

impl Kind {
    /// Whether the submission communicates with an interactor.
    pub fn is_interactive(self) -> bool {
        matches!(
            self,
            Kind::Interactive
                | Kind::MultiPass {
                    interactive: true,
                    ..
                }
        )
    }
}

/// How outputs are judged.
#[derive(Debug, Clone)]
pub enum Checker {
    /// The default output validator of the ICPC format, with its flags.
    Tokens,
    /// Sim's default checker. It ignores spaces at the ends of lines and empty lines at the end of
    /// the file.
    Lines,
    /// A program from the package.
    Custom {
        /// The submission's sources.
        program: Program,
        /// The calling convention.
        convention: Convention,
    },
}

/// How a custom checker or interactor is called, and how it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Convention {
    /// ICPC: the arguments are INPUT ANSWER FEEDBACK_DIR [FLAG...], and the output is on standard
    /// input. Exit status 42 means right and 43 means wrong. The program may write
    /// `judgemessage.txt` and `score.txt` to the feedback directory.
    Icpc,
    /// Sim: the arguments are INPUT ANSWER OUTPUT, or only INPUT for an interactive problem. The
    /// program prints `OK` or `WRONG`, then a percentage or an empty line, then a comment.
    Sim,
    /// testlib: the arguments are INPUT OUTPUT ANSWER. Exit status 0 means right, 1 wrong, 2
    /// presentation error, 3 failure and 7 points. The comment is on standard error. No supported
    /// format selects this convention.
    Testlib,
}

/// The extension of programs in the language checktestdata, which describe inputs.
pub const CHECKTESTDATA: &str = "ctd";

/// A program from the package: one source, or a directory of sources with or without `build` and
/// `run` scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The file or directory.
    pub path: PathBuf,
    /// The source files: the file itself, or all files of the directory and its subdirectories.
    pub sources: Vec<PathBuf>,
    /// The language, if the package names it. Otherwise the extensions decide.
    pub language: Option<String>,
    /// Arguments from the package.
    pub arguments: Vec<String>,
}

impl Program {
    /// Whether the program is written in the language checktestdata.
    pub fn is_checktestdata(&self) -> bool {
        self.path
            .extension()
            .is_some_and(|extension| extension == CHECKTESTDATA)
    }

    /// Returns the name of the file or directory, which other files of the package use.
    pub fn name(&self) -> &str {
        self.path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
    }
}

/// How submissions are scored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scoring {
    /// A submission passes or fails.
    PassFail,
    /// A submission receives points in the range that the package states, which may be infinite.
    Points {
        /// The lowest score.
        minimum: f64,
        /// The highest score.
        maximum: f64,
        /// Whether higher or lower scores are better.
        objective: Objective,
    },
}

/// Whether higher or lower scores are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Objective {
    /// Higher scores are better.
    #[default]
    Max,
    /// Lower scores are better (legacy `objective: min`).
    Min,
}

/// The limits of a problem. `None` if neither the package nor its format sets a limit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    /// CPU time limit for one test.
    pub cpu_time: Option<Duration>,
    /// If `cpu_time` is `None`, the limit is at least this multiple of the slowest accepted
    /// submission's time (ICPC: `time_multiplier`, `ac_to_time_limit`, or their defaults).
    pub from_accepted: Option<f64>,
    /// A submission that is expected to exceed the time limit must need at least this multiple of
    /// it (ICPC: `time_safety_margin`, `time_limit_to_tle`, or their defaults).
    pub to_exceeded: Option<f64>,
    /// The computed limit is rounded up to a multiple of this duration (ICPC; 1 s by default).
    pub resolution: Option<Duration>,
    /// Memory limit for one run, in bytes.
    pub memory: Option<u64>,
    /// Output limit of one run, in bytes.
    pub output: Option<u64>,
    /// Limit on the total size of a submission's sources, in bytes.
    pub code: Option<u64>,
    /// Time limit for compiling a submission.
    pub compilation_time: Option<Duration>,
    /// Memory limit for compiling a submission, in bytes.
    pub compilation_memory: Option<u64>,
    /// Time limit for one run of the checker.
    pub validation_time: Option<Duration>,
    /// Memory limit for one run of the checker, in bytes.
    pub validation_memory: Option<u64>,
    /// Output limit of one run of the checker, in bytes.
    pub validation_output: Option<u64>,
}

/// A group of tests and subgroups. [`Group::parts`] returns both in judging order.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// The name: `""` for the root, `secret`, `secret/1`, ...; for Sim `0`, `1`, ...
    pub name: String,
    /// Whether the tests are samples. Samples are judged, but give no points unless the package
    /// assigns points to them.
    pub sample: bool,
    /// How the group's verdict and points are computed.
    pub rules: Rules,
    /// The group's own tests, in order.
    pub tests: Vec<Test>,
    /// The groups in this group, in order.
    pub groups: Vec<Group>,
}

/// A part of a group.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// A test of the group.
    Test(&'a Test),
    /// A group in the group.
    Group(&'a Group),
}

impl Group {
    /// Returns the group's tests and groups in judging order. If the group has both, they are
    /// sorted by name.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let (mut tests, mut groups) = (self.tests.iter().peekable(), self.groups.iter().peekable());
        std::iter::from_fn(move || match (tests.peek(), groups.peek()) {
            (Some(test), Some(group)) if group.name < test.name => groups.next().map(Part::Group),
            (None, _) => groups.next().map(Part::Group),
            _ => tests.next().map(Part::Test),
        })
    }

    /// Returns this group and all groups below it, each before the groups in it.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        let mut waiting = vec![self];
        std::iter::from_fn(move || {
            let group = waiting.pop()?;
            waiting.extend(group.groups.iter().rev());
            Some(group)
        })
    }

    /// Returns the tests of this group and of all groups below it, in judging order.
    pub fn all_tests(&self) -> impl Iterator<Item = &Test> {
        let mut waiting = vec![Part::Group(self)];
        std::iter::from_fn(move || {
            loop {
                match waiting.pop()? {
                    Part::Test(test) => return Some(test),
                    Part::Group(group) => {
                        let first = waiting.len();
                        waiting.extend(group.parts());
                        waiting[first..].reverse();
                    }
                }
            }
        })
    }
}

/// How a group's verdict and points follow from those of its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Whether the first test that is not accepted ends the group (`on_reject: break`) and
    /// determines its verdict.
    pub stop_at_first_failure: bool,
    /// Which part determines the group's verdict.
    pub verdict: VerdictMode,
    /// How points are combined.
    pub score: ScoreMode,
    /// Points of an accepted test that has no points of its own. A test that reports a fraction
    /// receives that fraction of these points.
    pub accept_score: Option<f64>,
    /// Points of a rejected test that has no points of its own.
    pub reject_score: Option<f64>,
    /// The range in which the group's points must be.
    pub range: Option<(f64, f64)>,
    /// The maximum number of points of the group (2023-07 `max_score`; Sim's group points, which
    /// may be negative).
    pub points: Option<f64>,
    /// Points decrease with time: a test receives all points up to this fraction of the limit, and
    /// none at the limit (Sim: 2/3).
    pub time_graded_from: Option<f64>,
    /// Whether samples are ignored (`ignore_sample`).
    pub ignore_sample: bool,
    /// Groups that must be accepted before this group is judged. Otherwise this group is skipped.
    pub require_pass: Vec<String>,
    /// Flags with which [`Problem::grader`] computes the verdict and points of this group (legacy
    /// `grading: custom`).
    pub grader: Option<Vec<String>>,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            stop_at_first_failure: true,
            verdict: VerdictMode::Worst,
            score: ScoreMode::Sum,
            accept_score: None,
            reject_score: None,
            range: None,
            points: None,
            time_graded_from: None,
            ignore_sample: false,
            require_pass: Vec::new(),
            grader: None,
        }
    }
}

/// `verdict_mode` of the default grader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VerdictMode {
    /// Accepted only if all parts are accepted. Otherwise the most severe verdict applies.
    #[default]
    Worst,
    /// Accepted only if all parts are accepted. Otherwise the first other verdict applies.
    First,
    /// Accepted if any part is accepted (`accept_if_any_accepted`). Otherwise the most severe
    /// verdict applies.
    AnyAccepted,
    /// Always accepted.
    AlwaysAccept,
}

/// `score_mode` of the default grader, which 2023-07 calls `score_aggregation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScoreMode {
    /// The sum of the parts' points.
    #[default]
    Sum,
    /// The smallest number of points of a part. For Sim: the smallest fraction of a part, times the
    /// group's points.
    Minimum,
    /// The largest number of points of a part.
    Maximum,
    /// The mean of the parts' points.
    Average,
    /// All or nothing: the group's points if all parts are accepted (`pass-fail`).
    PassFail,
}

/// One test.
#[derive(Debug, Clone, Default)]
pub struct Test {
    /// The name, unique in the problem: the path below `data` without extension, or Sim's test
    /// name.
    pub name: String,
    /// The path of the input. In a Sim package, the file may be missing if one of
    /// [`Problem::generators`] creates it.
    pub input: PathBuf,
    /// The path of the judges' answer. `None` if the package has none (Sim's interactive problems).
    /// In a Sim package with a Sipfile, the file may be missing because the model solution creates
    /// it.
    pub answer: Option<PathBuf>,
    /// The CPU time limit of this test.
    pub cpu_time: Option<Duration>,
    /// The memory limit of this test, in bytes.
    pub memory: Option<u64>,
    /// Flags for the checker, which replace the problem's flags.
    pub checker_flags: Option<Vec<String>>,
    /// Flags for the input validators.
    pub input_flags: InputFlags,
    /// Arguments for the submission (2023-07 `args`).
    pub arguments: Vec<String>,
    /// Files for the submission's working directory (2023-07 `.files`).
    pub files: Option<PathBuf>,
    /// The setter's description of the test.
    pub description: Option<String>,
}

/// A test of the package's own programs instead of submissions (2023-07 `invalid_input`,
/// `invalid_output`, `valid_output`). Only its input always exists.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Probe {
    /// The expected result.
    pub kind: ProbeKind,
    /// The input, answer and flags.
    pub test: Test,
    /// An output that a submission could write.
    pub output: Option<PathBuf>,
}

/// The expected result of a [`Probe`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbeKind {
    /// At least one input validator rejects the input.
    InvalidInput,
    /// The checker rejects the output.
    InvalidOutput,
    /// The checker accepts the output.
    ValidOutput,
}

/// Flags for the input validators.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputFlags {
    /// Flags for all validators.
    All(Vec<String>),
    /// Flags by the validator's name. Other validators receive no flags.
    Named(BTreeMap<String, Vec<String>>),
}

impl Default for InputFlags {
    fn default() -> InputFlags {
        InputFlags::All(Vec::new())
    }
}

impl InputFlags {
    /// Returns the flags of one of [`Problem::input_validators`].
    pub fn of(&self, validator: &Program) -> &[String] {
        match self {
            InputFlags::All(flags) => flags,
            InputFlags::Named(flags) => {
                let name = validator.name();
                let stem = name.split('.').next().unwrap_or(name);
                flags
                    .get(name)
                    .or_else(|| flags.get(stem))
                    .map_or(&[], Vec::as_slice)
            }
        }
    }
}

/// A submission of the package.
#[derive(Debug, Clone)]
pub struct Submission {
    /// The path below `submissions`, such as `accepted/anna.cpp`; for Sim the path below the
    /// package.
    pub name: String,
    /// The submission's sources.
    pub program: Program,
    /// The accepted verdicts; DOMjudge's `@EXPECTED_RESULTS@` may name several. The list is empty
    /// if any verdict is allowed.
    pub expected: Vec<Expected>,
    /// Sets of verdicts. For each set, at least one test must have a verdict from it (2023-07
    /// `required`). Sets that follow from `expected` are omitted.
    pub required: Vec<Vec<Expected>>,
    /// The range of points, if the package states one.
    pub score: Option<(f64, f64)>,
    /// Whether the submission's times determine the time limit, if it must be accepted (2023-07
    /// `use_for_time_limit`).
    pub for_time_limit: bool,
}

impl Submission {
    /// Whether the submission is measured if the package states no time limit.
    pub fn is_measured(&self) -> bool {
        self.for_time_limit && self.expected == [Expected::Accepted]
    }
}

/// An expected verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Expected {
    /// Accepted.
    Accepted,
    /// Accepted, but with less than the best score.
    PartiallyAccepted,
    /// Wrong answer.
    WrongAnswer,
    /// Too slow.
    TimeLimit,
    /// Run-time error. In formats without a verdict for the memory limit, this verdict includes it,
    /// and [`Expected::MemoryLimit`] is listed as well.
    RunTimeError,
    /// Memory limit.
    MemoryLimit,
    /// Output limit.
    OutputLimit,
    /// Compile error.
    CompileError,
    /// Any verdict except accepted.
    Rejected,
}

/// How the input of one test is generated.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Generation {
    /// The name of the test. The generator can read it from its environment.
    pub test: String,
    /// The source of the input.
    pub generator: Generator,
    /// Arguments of the generator.
    pub arguments: Vec<String>,
    /// The seed, derived from the test's name and the package's base seed. The generator can read
    /// it from its environment.
    pub seed: u64,
    /// The source of the answer. `None` means the model solution.
    pub answer: Option<Generator>,
}

impl Generation {
    /// Returns the number of bytes that the sources of input and answer occupy.
    pub(crate) fn cost(&self) -> usize {
        self.generator.cost() + self.answer.as_ref().map_or(0, Generator::cost)
    }
}

/// The source of an input or an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Generator {
    /// A program from the package.
    Program(Program),
    /// A shell command line (Sim's `sh:`).
    Shell(String),
    /// A string in the package's file of generators.
    Text(String),
    /// A file from the package.
    Copy(PathBuf),
}

impl Generator {
    /// Returns the number of bytes that a copy occupies.
    pub(crate) fn cost(&self) -> usize {
        match self {
            Generator::Program(program) => program
                .sources
                .iter()
                .chain([&program.path])
                .map(|path| path.as_os_str().len())
                .sum(),
            Generator::Shell(text) | Generator::Text(text) => text.len(),
            Generator::Copy(path) => path.as_os_str().len(),
        }
    }
}

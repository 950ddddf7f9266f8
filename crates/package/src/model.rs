//! A problem, whatever format it was written in.

use crate::archive::Unpacked;
use crate::constants::Constants;
use crate::fault::Fault;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The format that a package is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The ICPC problem package format, version `legacy` (problemtools, DOMjudge).
    Legacy,
    /// The ICPC problem package format, version `2023-07` and what became of it, `2025-09`.
    Icpc2023,
    /// Sim's: a Simfile.
    Sim,
}

/// A problem package.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Directory of the package; of one that came as an archive, where that was unpacked.
    pub directory: PathBuf,
    /// How it was written; found by looking.
    pub format: Format,
    /// The version of it that the package states, if it does.
    pub version: Option<String>,
    /// Title; in English if there is one, else in the language that the package names first.
    pub name: String,
    /// Short name: the directory's for ICPC packages, the label for Sim's.
    pub label: String,
    /// How submission and judge talk to each other.
    pub kind: Kind,
    /// How outputs are judged, or, if interactive, who talks to the submission.
    pub checker: Checker,
    /// Flags for the checker that hold for every test without flags of its own.
    pub checker_flags: Vec<String>,
    /// Whether there are points.
    pub scoring: Scoring,
    /// Makes verdict and points of groups that ask for it ([`Rules::grader`]) from those of their
    /// parts: results on standard input, `VERDICT SCORE` in each line, in their order; the group's
    /// on standard output likewise.
    pub grader: Option<Program>,
    /// Limits of all runs.
    pub limits: Limits,
    /// All tests, as a tree. The root has no tests of its own.
    pub root: Group,
    /// In the order in which they are to be judged: the model solution first.
    pub submissions: Vec<Submission>,
    /// Each must accept every input.
    pub input_validators: Vec<Program>,
    /// What input validators and checker are tried on (ICPC); a judge has no use for it.
    pub probes: Vec<Probe>,
    /// How inputs are made, if the package says. Of an ICPC package only [`crate::read_unfinished`]
    /// looks for it: a judge has no use for it.
    pub generators: Vec<Generation>,
    /// Files that are added to every submission before it is compiled: a directory with one
    /// directory for each language, and `default` for languages without one (ICPC `include`).
    pub include: Option<PathBuf>,
    /// What stands for its value in the package's programs and in `include` (2025-09).
    pub constants: Constants,
    /// What its author may not have meant.
    pub warnings: Vec<Fault>,
    /// Keeps the directory that an archive was unpacked into.
    pub unpacked: Option<Arc<Unpacked>>,
}

impl Problem {
    /// All tests in the order in which they are judged.
    pub fn tests(&self) -> impl Iterator<Item = &Test> {
        self.root.all_tests()
    }

    /// All groups, each before those in it: the root first.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.root.groups()
    }

    /// The group of this name.
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups().find(|group| group.name == name)
    }

    /// The test of this name.
    pub fn test(&self, name: &str) -> Option<&Test> {
        self.tests().find(|test| test.name == name)
    }

    /// The submission that all others are measured by: the first that must be accepted.
    pub fn model_solution(&self) -> Option<&Submission> {
        self.submissions
            .iter()
            .find(|submission| submission.expected == [Expected::Accepted])
    }

    /// A text with the archive's name in place of the directory that it was unpacked into.
    #[must_use]
    pub fn shown_in(&self, text: String) -> String {
        self.unpacked
            .as_ref()
            .map(|unpacked| unpacked.shown_in(&text))
            .unwrap_or(text)
    }
}

/// How submission and judge talk to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Input on standard input, output on standard output.
    Batch,
    /// The submission talks to an interactor.
    Interactive,
    /// The submission is run several times, with the validator's output of one pass as the
    /// next pass's input (2023-07 `multi-pass`).
    MultiPass {
        /// At most so many passes.
        passes: u32,
        /// In each pass the submission talks to an interactor.
        interactive: bool,
    },
}

impl Kind {
    /// Whether the submission talks to an interactor.
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
    /// Sim's default: equal but for spaces at the ends of lines and empty lines at the end.
    Lines,
    /// A program that comes with the package.
    Custom {
        /// Its sources.
        program: Program,
        /// How it is called and how it answers.
        convention: Convention,
    },
}

/// How a custom checker (or interactor) is called and how it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Convention {
    /// Arguments INPUT ANSWER FEEDBACK_DIR [FLAG...]; the output on standard input; exit status
    /// 42: right, 43: wrong; `judgemessage.txt`, `score.txt` in the feedback directory.
    Icpc,
    /// Sim: arguments INPUT ANSWER OUTPUT (interactive: INPUT); prints `OK` or `WRONG`, a
    /// percentage or an empty line, a comment.
    Sim,
    /// testlib: arguments INPUT OUTPUT ANSWER; exit status 0 right, 1 wrong, 2 presentation
    /// error, 3 failure, 7 points; comment on standard error. No format that is read here says so.
    Testlib,
}

/// A program of the package: one source, or a directory of sources with or without `build` and
/// `run` scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// File or directory.
    pub path: PathBuf,
    /// The source files (the files of the directory and of those in it, or the one file).
    pub sources: Vec<PathBuf>,
    /// Name of the language, if the package says; else the extensions tell.
    pub language: Option<String>,
    /// Arguments that the package gives.
    pub arguments: Vec<String>,
}

impl Program {
    /// Name by which the package's other files mean it: that of its file or directory.
    pub fn name(&self) -> &str {
        self.path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
    }
}

/// Whether a submission just passes or gets points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scoring {
    /// It passes or not.
    PassFail,
    /// Points; with the range that the package names, which may be infinite.
    Points {
        /// Least points.
        minimum: f64,
        /// Most points.
        maximum: f64,
        /// Which of two is better.
        objective: Objective,
    },
}

/// Which points are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Objective {
    /// More.
    #[default]
    Max,
    /// Fewer (legacy `objective: min`).
    Min,
}

/// Limits of a problem. What neither the package nor its format says is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    /// CPU time of one test.
    pub cpu_time: Option<Duration>,
    /// Without `cpu_time`: the limit is at least this many times the slowest accepted submission's
    /// time (ICPC: `time_multiplier`, `ac_to_time_limit`, or their defaults).
    pub from_accepted: Option<f64>,
    /// A submission that must exceed the limit must need at least this many times it (ICPC:
    /// `time_safety_margin`, `time_limit_to_tle`, or their defaults).
    pub to_exceeded: Option<f64>,
    /// The computed limit is rounded up to a multiple of this (ICPC; 1 s by default).
    pub resolution: Option<Duration>,
    /// Memory of one run, bytes.
    pub memory: Option<u64>,
    /// Output of one run, bytes.
    pub output: Option<u64>,
    /// Sources of a submission, bytes.
    pub code: Option<u64>,
    /// Time for compiling a submission.
    pub compilation_time: Option<Duration>,
    /// Memory for compiling a submission, bytes.
    pub compilation_memory: Option<u64>,
    /// Time of one run of the checker.
    pub validation_time: Option<Duration>,
    /// Memory of one run of the checker, bytes.
    pub validation_memory: Option<u64>,
    /// Output of one run of the checker, bytes.
    pub validation_output: Option<u64>,
}

/// A group of tests, and of groups; [`Group::parts`] has both in the order in which they are
/// judged.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// `""` for the root, `secret`, `secret/1`, ...; for Sim `0`, `1`, ...
    pub name: String,
    /// Samples: judged, but worth no points unless the package says so.
    pub sample: bool,
    /// How its result is made.
    pub rules: Rules,
    /// Its own tests, in order.
    pub tests: Vec<Test>,
    /// Groups in it, in order.
    pub groups: Vec<Group>,
}

/// What a group consists of.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// A test of its own.
    Test(&'a Test),
    /// A group in it.
    Group(&'a Group),
}

impl Group {
    /// Its tests and the groups in it as they are judged: where there are both, by name.
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let (mut tests, mut groups) = (self.tests.iter().peekable(), self.groups.iter().peekable());
        std::iter::from_fn(move || match (tests.peek(), groups.peek()) {
            (Some(test), Some(group)) if group.name < test.name => groups.next().map(Part::Group),
            (None, _) => groups.next().map(Part::Group),
            _ => tests.next().map(Part::Test),
        })
    }

    /// This group and all below it, each before those in it.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        let mut waiting = vec![self];
        std::iter::from_fn(move || {
            let group = waiting.pop()?;
            waiting.extend(group.groups.iter().rev());
            Some(group)
        })
    }

    /// Tests of this group and of all below it, in the order in which they are judged.
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

/// How a group's verdict and points come from those of its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// The first test that is not accepted ends the group (`on_reject: break`); its verdict is
    /// the group's.
    pub stop_at_first_failure: bool,
    /// Which part's verdict is the group's.
    pub verdict: VerdictMode,
    /// How points come together.
    pub score: ScoreMode,
    /// Points of an accepted test that brings no points of its own; a part of these, if it brings a
    /// part.
    pub accept_score: Option<f64>,
    /// Points of a rejected test that brings no points of its own.
    pub reject_score: Option<f64>,
    /// Points that the group's result must lie in.
    pub range: Option<(f64, f64)>,
    /// Most points of the group (2023-07 `max_score`, Sim's group points). Sim's may be negative.
    pub points: Option<f64>,
    /// Points go down with time: full to this part of the limit, none at the limit (Sim: 2/3).
    pub time_graded_from: Option<f64>,
    /// Samples do not count (`ignore_sample`).
    pub ignore_sample: bool,
    /// Names of groups that must be accepted, else this one is not judged.
    pub require_pass: Vec<String>,
    /// [`Problem::grader`] makes verdict and points of this group (legacy `grading: custom`); its
    /// flags.
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
    /// Accepted only if all are; else the gravest.
    #[default]
    Worst,
    /// Accepted only if all are; else the first that is not.
    First,
    /// Accepted if any is (`accept_if_any_accepted`); else the gravest.
    AnyAccepted,
    /// Always accepted.
    AlwaysAccept,
}

/// `score_mode` of the default grader, `score_aggregation` of 2023-07.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScoreMode {
    /// All parts' points together.
    #[default]
    Sum,
    /// The least of the parts' points. Sim: the least of the parts' shares, times the group's
    /// points.
    Minimum,
    /// The most of the parts' points.
    Maximum,
    /// The mean of the parts' points.
    Average,
    /// All or nothing: the group's points if all are accepted (`pass-fail`).
    PassFail,
}

/// One test.
#[derive(Debug, Clone, Default)]
pub struct Test {
    /// Unique in the problem: the path below `data` without its extension, Sim's test name.
    pub name: String,
    /// The input. A Sim package's need not exist if one of [`Problem::generators`] makes it: it
    /// belongs here then.
    pub input: PathBuf,
    /// The judges' answer; none if the package has none (Sim's interactive problems). A Sim package
    /// with a Sipfile may leave it to the model solution: it belongs here then.
    pub answer: Option<PathBuf>,
    /// Limit of this test alone.
    pub cpu_time: Option<Duration>,
    /// Limit of this test alone, bytes.
    pub memory: Option<u64>,
    /// Flags for the checker in place of the problem's.
    pub checker_flags: Option<Vec<String>>,
    /// Flags for the input validators.
    pub input_flags: InputFlags,
    /// Arguments for the submission (2023-07 `args`).
    pub arguments: Vec<String>,
    /// Files for the submission's working directory (2023-07 `.files`).
    pub files: Option<PathBuf>,
    /// What the setter says of the test.
    pub description: Option<String>,
}

/// A test of the package's own programs, on which no submission is judged (2023-07 `invalid_input`,
/// `invalid_output`, `valid_output`). Only the input is sure to be there.
#[derive(Debug, Clone)]
pub struct Probe {
    /// What must come of it.
    pub kind: ProbeKind,
    /// Input, answer, flags.
    pub test: Test,
    /// What a submission may have written.
    pub output: Option<PathBuf>,
}

/// What must come of a [`Probe`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeKind {
    /// Some input validator refuses the input.
    InvalidInput,
    /// The checker rejects the output.
    InvalidOutput,
    /// The checker accepts the output.
    ValidOutput,
}

/// Flags for the input validators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputFlags {
    /// For each of them.
    All(Vec<String>),
    /// By the validator's name; the others get none.
    Named(BTreeMap<String, Vec<String>>),
}

impl Default for InputFlags {
    fn default() -> InputFlags {
        InputFlags::All(Vec::new())
    }
}

impl InputFlags {
    /// Flags for one of [`Problem::input_validators`].
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

/// A submission that the package brings.
#[derive(Debug, Clone)]
pub struct Submission {
    /// Path below `submissions`, as people name it: `accepted/anna.cpp`; Sim: path below the
    /// package.
    pub name: String,
    /// Its sources.
    pub program: Program,
    /// What must come of it; any of these (DOMjudge's `@EXPECTED_RESULTS@` may name several).
    /// Empty: anything.
    pub expected: Vec<Expected>,
    /// Of each of these, some test must have one (2023-07 `required`). Here is what `expected` does
    /// not imply.
    pub required: Vec<Vec<Expected>>,
    /// Range of points, if the package says.
    pub score: Option<(f64, f64)>,
    /// Whether its times make a time limit, if it must be accepted (2023-07 `use_for_time_limit`).
    pub for_time_limit: bool,
}

impl Submission {
    /// Whether it is measured where nobody states a time limit.
    pub fn is_measured(&self) -> bool {
        self.for_time_limit && self.expected == [Expected::Accepted]
    }
}

/// What is expected of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Expected {
    /// Accepted.
    Accepted,
    /// Accepted, but not with the best points that there are.
    PartiallyAccepted,
    /// Wrong answer.
    WrongAnswer,
    /// Too slow.
    TimeLimit,
    /// Crashed. Formats that know no verdict for memory mean too much memory, too, and then
    /// [`Expected::MemoryLimit`] stands beside it.
    RunTimeError,
    /// Too much memory.
    MemoryLimit,
    /// Too much output.
    OutputLimit,
    /// Could not be compiled.
    CompileError,
    /// Not accepted, for whatever reason.
    Rejected,
}

/// How one test's input is made.
#[derive(Debug, Clone)]
pub struct Generation {
    /// Name of the test. The generator finds it in its environment.
    pub test: String,
    /// Who makes it.
    pub generator: Generator,
    /// Arguments of the generator.
    pub arguments: Vec<String>,
    /// Seed, from the test's name and the package's base seed. The generator finds it in its
    /// environment.
    pub seed: u64,
    /// Who makes the answer; `None`: the model solution.
    pub answer: Option<Generator>,
}

impl Generation {
    /// Bytes of what makes its input and its answer.
    pub(crate) fn cost(&self) -> usize {
        self.generator.cost() + self.answer.as_ref().map_or(0, Generator::cost)
    }
}

/// Who makes an input, or an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Generator {
    /// A program of the package.
    Program(Program),
    /// A line for the shell, arguments included (Sim's `sh:`).
    Shell(String),
    /// Nobody: it stands in the package's file of generators.
    Text(String),
    /// Nobody: it is a file of the package.
    Copy(PathBuf),
}

impl Generator {
    /// Bytes that a copy of it takes.
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

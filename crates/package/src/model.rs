//! A problem, whatever format it was written in.

use std::path::PathBuf;
use std::time::Duration;

/// The format that a package is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The ICPC problem package format, version `legacy` (problemtools, DOMjudge).
    Legacy,
    /// The ICPC problem package format, version `2023-07`.
    Icpc2023,
    /// Sim's: a Simfile.
    Sim,
}

/// A problem package.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Directory of the package.
    pub directory: PathBuf,
    pub format: Format,
    /// Title; in the language that the package names first, or English.
    pub name: String,
    /// Short name: the directory's for ICPC packages, the label for Sim's.
    pub label: String,
    pub kind: Kind,
    /// How outputs are judged, or, if interactive, who talks to the submission.
    pub checker: Checker,
    /// Flags for the checker that hold for every test without flags of its own.
    pub checker_flags: Vec<String>,
    pub scoring: Scoring,
    pub limits: Limits,
    /// All tests, as a tree. The root has no tests of its own.
    pub root: Group,
    /// In the order in which they are to be judged: the model solution first.
    pub submissions: Vec<Submission>,
    /// Each must accept every input.
    pub input_validators: Vec<Program>,
    /// How inputs are made, if the package says.
    pub generators: Vec<Generation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Input on standard input, output on standard output.
    Batch,
    /// The submission talks to an interactor.
    Interactive,
    /// The submission is run several times, with the validator's output of one pass as the
    /// next pass's input (2023-07 `multi-pass`). At most so many passes.
    MultiPass { passes: u32, interactive: bool },
}

/// How outputs are judged.
#[derive(Debug, Clone)]
pub enum Checker {
    /// The default output validator of the ICPC format, with its flags.
    Tokens,
    /// Sim's default: equal but for spaces at the ends of lines and empty lines at the end.
    Lines,
    /// A program that comes with the package.
    Custom { program: Program, convention: Convention },
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
    /// error, 3 failure, 7 points; comment on standard error.
    Testlib,
}

/// A program of the package: one source, or a directory of sources with or without `build` and
/// `run` scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// File or directory.
    pub path: PathBuf,
    /// The source files (the files of the directory, or the one file).
    pub sources: Vec<PathBuf>,
    /// Name of the language, if the package says; else the extensions tell.
    pub language: Option<String>,
    /// Arguments that the package gives.
    pub arguments: Vec<String>,
}

/// Whether a submission just passes or gets points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scoring {
    PassFail,
    /// Points; with the range that the package names.
    Points {
        minimum: f64,
        maximum: f64,
    },
}

/// Limits of a problem. What the package leaves open is `None`.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// CPU time of one test.
    pub cpu_time: Option<Duration>,
    /// `time_multiplier` of legacy, `time_limit` multipliers of 2023-07: the limit is this many
    /// times the slowest accepted submission's time.
    pub from_accepted: Option<f64>,
    /// Safety margin: a submission that must exceed the limit must need this many times it.
    pub to_exceeded: Option<f64>,
    /// The computed limit is rounded up to a multiple of this.
    pub resolution: Option<Duration>,
    /// Bytes.
    pub memory: Option<u64>,
    pub output: Option<u64>,
    pub code: Option<u64>,
    pub compilation_time: Option<Duration>,
    pub compilation_memory: Option<u64>,
    pub validation_time: Option<Duration>,
    pub validation_memory: Option<u64>,
    pub validation_output: Option<u64>,
}

/// A group of tests, and of groups.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// `""` for the root, `secret`, `secret/1`, ...; for Sim `0`, `1`, ...
    pub name: String,
    /// Samples: judged, but worth no points unless the package says so.
    pub sample: bool,
    pub rules: Rules,
    pub tests: Vec<Test>,
    pub groups: Vec<Group>,
}

/// How a group's verdict and points come from those of its parts.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The first test that is not accepted ends the group (`on_reject: break`); its verdict is
    /// the group's.
    pub stop_at_first_failure: bool,
    /// Which part's verdict is the group's.
    pub verdict: VerdictMode,
    pub score: ScoreMode,
    /// Points of an accepted (or rejected) test that brings no points of its own.
    pub accept_score: Option<f64>,
    pub reject_score: Option<f64>,
    /// Points that the group's result must lie in.
    pub range: Option<(f64, f64)>,
    /// Most points of the group (2023-07 `max_score`, Sim's group points).
    pub points: Option<f64>,
    /// Points go down with time: full to the first part of the limit, none at the limit (Sim: 2/3).
    pub time_graded_from: Option<f64>,
    /// Samples do not count (`ignore_sample`).
    pub ignore_sample: bool,
    /// Names of groups that must be accepted, else this one is not judged.
    pub require_pass: Vec<String>,
    /// A grader of the package's own (legacy `grading: custom`): not supported, named in a message.
    pub custom_grader: bool,
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
            custom_grader: false,
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
    /// Accepted if any is (`accept_if_any_accepted`).
    AnyAccepted,
    AlwaysAccept,
}

/// `score_mode` of the default grader, `score_aggregation` of 2023-07.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScoreMode {
    #[default]
    Sum,
    Minimum,
    Maximum,
    Average,
    /// All or nothing: the group's points if all are accepted (`pass-fail`).
    PassFail,
}

/// One test.
#[derive(Debug, Clone)]
pub struct Test {
    /// Unique in the problem: the path below `data` without its extension, Sim's test name.
    pub name: String,
    pub input: PathBuf,
    /// The judges' answer; none if the package has none (Sim's interactive problems).
    pub answer: Option<PathBuf>,
    /// Limits of this test alone.
    pub cpu_time: Option<Duration>,
    pub memory: Option<u64>,
    /// Flags for the checker in place of the problem's.
    pub checker_flags: Option<Vec<String>>,
    /// Arguments for the submission (2023-07 `args`).
    pub arguments: Vec<String>,
    /// Files for the submission's working directory (2023-07 `.files`).
    pub files: Option<PathBuf>,
    /// What the setter says of the test.
    pub description: Option<String>,
}

/// A submission that the package brings.
#[derive(Debug, Clone)]
pub struct Submission {
    /// Path below the package, as people name it: `accepted/anna.cpp`.
    pub name: String,
    pub program: Program,
    /// What must come of it; any of these (DOMjudge's `@EXPECTED_RESULTS@` may name several). Empty: anything.
    pub expected: Vec<Expected>,
    /// Range of points, if the package says.
    pub score: Option<(f64, f64)>,
}

/// What is expected of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    Accepted,
    PartiallyAccepted,
    WrongAnswer,
    TimeLimit,
    RunTimeError,
    MemoryLimit,
    OutputLimit,
    CompileError,
    /// Not accepted, for whatever reason.
    Rejected,
}

/// How one test's input is made.
#[derive(Debug, Clone)]
pub struct Generation {
    /// Name of the test.
    pub test: String,
    /// A program of the package, or a shell command (Sim's `sh:`).
    pub generator: Generator,
    pub arguments: Vec<String>,
    pub seed: u64,
}

#[derive(Debug, Clone)]
pub enum Generator {
    Program(Program),
    Shell(String),
}

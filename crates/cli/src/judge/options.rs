//! The command line of `millibox judge`.

use crate::judge_setup::JudgeSetupOptions;
use crate::values::{self, ValueError};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const LIMITS: &str = "Limits (they replace those of the package)";
const TESTS: &str = "Tests";
const OUTPUT: &str = "Output";
const MACHINE: &str = "Machine";

/// Options of `millibox judge`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "`millibox judge --help` explains each option and gives examples.",
    after_long_help = "\
PACKAGE:
  A directory or .zip archive with an ICPC problem package (legacy, 2023-07, 2025-09) or a Sim
  package. millibox detects the format. It reports all errors of a package at once, with file and
  line.

SUBMISSION:
  A submission of the package, by its name below submissions/ (accepted/anna.cpp), the name of a
  folder (wrong_answer) or the name of a file (anna.cpp); or any other file or directory. If you
  name a directory that contains submissions of the package, such as `.`, only those submissions
  are judged.
  By default, all submissions of the package are judged.

Verdicts:
  millibox reports whether each verdict matches the package's expectation. Tests run in parallel,
  each on its own CPU. The verdict is the same as if they ran one after another. A judge error is
  a failure of the judge, the machine or a program of the package, not of the submission. A
  submission is skipped if its language is not available. If it was named directly, this is a
  judge error.

Limits:
  The time limit applies to CPU time. It comes from --time-limit, from the package, or from the
  times of the submissions that must be accepted. The real-time limit is 3 times as long, plus 2 s.
  See docs/guide/judge.md for details.

Exit status:
  0      every verdict was as expected; submissions from outside the package were accepted
  1      a verdict was not as expected
  2      the package cannot be judged, a judge error occurred, or all submissions were skipped
  125    an option is wrong, or the sandbox does not work here (see millibox doctor)
  128+N  millibox received signal N and killed the running programs

Examples:
  Check that every submission of a package receives the expected verdict:
    millibox judge problems/hello

  Judge one submission, with a line for each test:
    millibox judge problems/hello my/solution.cpp

  Choose a language and a time limit, and stop at the first failed test:
    millibox judge problems/hello solution.txt --language c++17 --time-limit 5s --fail-fast

  Judge only the samples, with all details of each test:
    millibox judge problems/hello accepted --tests 'sample/*' --verbose

  Write reports for programs, people and build servers:
    millibox judge problems/hello --report json out.json --report html out.html \\
        --report junit out.xml"
)]
pub struct Args {
    /// The problem package: a directory or a .zip
    #[arg(value_name = "PACKAGE")]
    pub package: PathBuf,
    /// Names of the package's submissions, or files and directories [default: all submissions of
    /// the package]
    #[arg(value_name = "SUBMISSION")]
    pub submissions: Vec<PathBuf>,

    /// Limit the CPU time of every test
    ///
    /// Units: ns, us, ms, s, m, h, d; parts are added, as in 1m 30s. The maximum is a day.
    ///
    /// Example: --time-limit 1.5s
    #[arg(
        long,
        value_name = "TIME",
        value_parser = values::time_limit,
        allow_hyphen_values = true,
        help_heading = LIMITS,
    )]
    pub time_limit: Option<Duration>,
    /// Limit the memory of every test
    ///
    /// Units: K, M, G, T, P, powers of 1024 (KiB and KB mean the same); a plain number means bytes.
    /// The minimum is 1M.
    ///
    /// Example: --memory-limit 256M
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = values::memory,
        allow_hyphen_values = true,
        help_heading = LIMITS,
    )]
    pub memory_limit: Option<u64>,

    /// Stop judging a submission at its first failed test
    ///
    /// This overrides the rules of the package's groups. Points then count only the judged tests.
    #[arg(long, help_heading = TESTS)]
    pub fail_fast: bool,
    /// Run Python submissions as copies of a prepared interpreter
    ///
    /// Each submission has its own interpreters, which are started before its code runs. Their CPU
    /// time and memory are added to those of each test.
    #[arg(long, help_heading = TESTS)]
    pub prepared: bool,
    /// Judge only tests whose names match the pattern
    ///
    /// `*` matches any text, `?` any character, and `[1-3]` one of these characters. With this
    /// option, only verdicts of submissions that must be accepted can be unexpected.
    ///
    /// Example: --tests 'secret/1*'
    #[arg(long, value_name = "GLOB", value_parser = pattern, help_heading = TESTS)]
    pub tests: Option<glob::Pattern>,
    /// Set the language of the named submissions
    ///
    /// Requires a SUBMISSION. By default, the name of the file determines the language. `millibox
    /// languages` lists all languages.
    ///
    /// Example: --language c++17
    #[arg(long, value_name = "NAME", help_heading = TESTS)]
    pub language: Option<String>,
    /// Relay the messages between submission and interactor
    ///
    /// The relay is slower than direct pipes. It counts the submission's output, and detects a
    /// program that closes its output and continues.
    #[arg(long, help_heading = TESTS)]
    pub relay: bool,

    /// Write a report; FORMAT is json, html or junit
    ///
    /// Can be repeated. A PATH of - means standard output; other output then goes to standard
    /// error.
    ///
    /// Example: --report html report.html
    #[arg(
        long,
        value_names = ["FORMAT", "PATH"],
        num_args = 2,
        action = clap::ArgAction::Append,
        help_heading = OUTPUT,
    )]
    pub report: Vec<OsString>,
    /// Print only unexpected verdicts, rejected submissions from outside the package, judge errors
    /// and warnings
    #[arg(long, short, conflicts_with = "verbose", help_heading = OUTPUT)]
    pub quiet: bool,
    /// Print each test of each submission, its CPU, and the messages of compilers
    ///
    /// By default, the tests of a single submission are printed. If there are several submissions,
    /// each has one line, and tests are printed only for unexpected verdicts.
    #[arg(long, short, help_heading = OUTPUT)]
    pub verbose: bool,
    /// Serve a binding of another language, which holds the write end of standard input
    ///
    /// The end of standard input ends the command as SIGTERM does. If nothing can be judged,
    /// standard output is a JSON object with the failed step and a message.
    #[arg(long, hide = true)]
    pub for_binding: bool,

    /// Run tests on these CPUs, each test on one of them [default: all CPUs]
    ///
    /// LIST contains numbers and ranges.
    ///
    /// Example: --cpus 2-7
    #[arg(long, value_name = "LIST", value_parser = values::cpus, help_heading = MACHINE)]
    pub cpus: Option<values::Cpus>,
    #[command(flatten)]
    pub work: JudgeSetupOptions,
}

fn pattern(text: &str) -> Result<glob::Pattern, ValueError> {
    glob::Pattern::new(text).map_err(|error| ValueError::Pattern {
        message: error.msg,
        position: error.pos + 1,
    })
}

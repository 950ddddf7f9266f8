//! The command line of `millibox judge`.

use crate::shop::Work;
use crate::values;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const LIMITS: &str = "Limits (in place of the package's)";
const TESTS: &str = "What is judged, and how";
const OUTPUT: &str = "What is told";
const MACHINE: &str = "Machine";

/// Options of `millibox judge`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "`millibox judge --help` explains each option and gives examples.",
    after_long_help = "\
PACKAGE:
  A directory or .zip: an ICPC problem package (legacy, 2023-07, 2025-09) or one of Sim's. Which
  of them, its files say. All that is wrong with it is told at once, with file and line.

SUBMISSION:
  A submission of the package by its name below submissions/ (accepted/anna.cpp), the name of a
  folder (wrong_answer) or of a file (anna.cpp), or a file or directory from anywhere. A
  directory that holds submissions of the package (. beside or in it) means these, and nothing
  else that lies there. Without any, all submissions of the package are judged.

Verdicts:
  For each submission of the package it is told whether the verdict is the one that the package
  expects. Tests are judged several at a time, each on a CPU of its own, and the verdict is the
  one that judging them one after another would give. A judge error says nothing of the
  submission: the judge, the machine or a program of the package failed. A submission in a
  language that cannot be used here is skipped; named itself, it is a judge error.

Limits:
  A time limit is one on CPU time, and comes from --time-limit, the package, or the times of the
  submissions that must be accepted; on real time the limit is 3 times that and 2 s.
  docs/guide/judge.md has all of it.

Exit status:
  0      every verdict is an expected one; a submission from outside of the package was accepted
  1      some verdict was not
  2      the package cannot be judged, there was a judge error, or everything was skipped
  125    an option is wrong, or the sandbox does not work here (see millibox doctor)
  128+N  signal N came; what ran was killed

Examples:
  Does every submission of a package come to what its folder says?
    millibox judge problems/hello

  One submission, each test in a line:
    millibox judge problems/hello my/solution.cpp

  In another language than its name says, with more time, until a test fails:
    millibox judge problems/hello solution.txt --language c++17 --time-limit 5s --fail-fast

  Only the samples, and everything that is known of each test:
    millibox judge problems/hello accepted --tests 'sample/*' --verbose

  For a machine, for people, for a build server:
    millibox judge problems/hello --report json out.json --report html out.html \\
        --report junit out.xml"
)]
pub struct Args {
    /// The problem package: a directory or a .zip
    #[arg(value_name = "PACKAGE")]
    pub package: PathBuf,
    /// What is judged: names of the package's submissions, or files and directories; without any,
    /// all of the package's
    #[arg(value_name = "SUBMISSION")]
    pub submissions: Vec<PathBuf>,

    /// CPU time of every test
    ///
    /// Units: ns, us, ms, s, m, h, d; parts are added up, as in 1m 30s. At most a day.
    ///
    /// Example: --time-limit 1.5s
    #[arg(long, value_name = "TIME", value_parser = values::time_limit, allow_hyphen_values = true, help_heading = LIMITS)]
    pub time_limit: Option<Duration>,
    /// Memory of every test
    ///
    /// Units: K, M, G, T, P, powers of 1024 (KiB and KB mean the same); bytes without one. At least
    /// 1M.
    ///
    /// Example: --memory-limit 256M
    #[arg(long, value_name = "SIZE", value_parser = values::memory, allow_hyphen_values = true, help_heading = LIMITS)]
    pub memory_limit: Option<u64>,

    /// A submission's first test that is not accepted is its last
    ///
    /// Whatever the package says of its groups. Points are then those of what was judged.
    #[arg(long, help_heading = TESTS)]
    pub fail_fast: bool,
    /// Only tests whose names match
    ///
    /// `*` is any text, `?` any character, `[1-3]` one of these. Of the package's submissions, only
    /// those that must be accepted can then come to something unexpected.
    ///
    /// Example: --tests 'secret/1*'
    #[arg(long, value_name = "GLOB", value_parser = pattern, help_heading = TESTS)]
    pub tests: Option<glob::Pattern>,
    /// The language of the submissions named
    ///
    /// Needs a SUBMISSION. Without it their file names tell. `millibox languages` lists them.
    ///
    /// Example: --language c++17
    #[arg(long, value_name = "NAME", help_heading = TESTS)]
    pub language: Option<String>,
    /// Move what submission and interactor say to each other
    ///
    /// Slower than the two pipes between them that they have without it, but then the submission's
    /// output is counted, and a program that closes its output and lives on is noticed.
    #[arg(long, help_heading = TESTS)]
    pub relay: bool,

    /// Write a report; FORMAT is json, html or junit
    ///
    /// Can be given repeatedly. PATH - is standard output; what is told then is on standard error.
    ///
    /// Example: --report html report.html
    #[arg(long, value_names = ["FORMAT", "PATH"], num_args = 2, action = clap::ArgAction::Append, help_heading = OUTPUT)]
    pub report: Vec<OsString>,
    /// Only what is unexpected, or not accepted though from outside of the package, judge errors
    /// and warnings
    #[arg(long, short, conflicts_with = "verbose", help_heading = OUTPUT)]
    pub quiet: bool,
    /// Each test of each submission, on which CPU it ran, and what compilers say
    ///
    /// Without it, each test is told of a single submission; of several, a line for each, and the
    /// tests of those that did not come out as they should.
    #[arg(long, short, help_heading = OUTPUT)]
    pub verbose: bool,

    /// CPUs that tests run on, each on one
    ///
    /// Numbers and ranges. Without it, all that there are.
    ///
    /// Example: --cpus 2-7
    #[arg(long, value_name = "LIST", value_parser = values::cpus, help_heading = MACHINE)]
    pub cpus: Option<values::Cpus>,
    #[command(flatten)]
    pub work: Work,
}

fn pattern(text: &str) -> Result<glob::Pattern, String> {
    glob::Pattern::new(text).map_err(|error| {
        format!(
            "no pattern for names: {} (at character {})",
            error.msg,
            error.pos + 1
        )
    })
}

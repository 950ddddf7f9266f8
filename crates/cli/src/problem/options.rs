//! The command line of `millibox problem`.

use crate::shop::Work;
use clap::{Subcommand, ValueEnum};
use millibox_setter::init;
use std::path::{Path, PathBuf};

/// Options of `millibox problem`.
#[derive(Debug, clap::Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
From nothing to an archive:
    millibox problem init sums --name 'Two sums'
    cd sums                            # write statement, generators, validator, submissions
    millibox problem gen               # make tests, those that changed
    millibox problem validate          # what is wrong?
    millibox problem limits --write    # time limits from the model solution
    millibox problem test              # does every submission come to what it should?
    millibox problem zip

Each subcommand has more: millibox problem gen --help. docs/guide/problem.md tells all of it.",
    after_long_help = "\
PACKAGE:
  A directory with an ICPC problem package (legacy, 2023-07, 2025-09) or one of Sim's; without it,
  the current directory. validate, limits, test and zip take an archive, too.

Where things run:
  All programs of a package run in the sandbox, as many at a time as there are CPUs. Compiled
  programs are kept in $XDG_CACHE_HOME/millibox or ~/.cache/millibox. What gen made is recorded in
  the package's directory .millibox, which belongs to no format and into no archive.

Exit status:
  0      done, and nothing is wrong
  1      something is wrong with the package or a program of it; standard output or error says what
  2      the package cannot be read, or a file or the sandbox failed while at work
  125    an option is wrong, or the sandbox does not work here (see millibox doctor)
  128+N  signal N came; what ran was killed, and no file of the package was changed"
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

/// Subcommands of `millibox problem`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Begin a package that works at once
    ///
    /// A statement, a sample, a generator with tests, an input validator (ICPC), a model solution
    /// and one that is wrong; with --interactive an interactor. `millibox judge` accepts it as it
    /// is.
    ///
    /// Example: millibox problem init sums --format sim --name 'Two sums'
    Init(Init),
    /// Make inputs with generators, answers with the model solution
    ///
    /// How: a Sim package says it in its Sipfile, an ICPC package in generators/generators.yaml.
    /// Only what changed is made (a generator, its arguments, an input, the model solution). Inputs
    /// and answers that a person wrote or changed stay; where gen would make something else, it
    /// says so. If anything fails, every file stays as it was.
    ///
    /// Example: millibox problem gen . secret/3-random --check
    Gen(Gen),
    /// Say what is wrong with a package
    ///
    /// Faults of its files, generators.yaml among them; input validators on every input; the
    /// checker on every answer; inputs that are there twice; line ends and encodings.
    Validate(Validate),
    /// Find time limits from the model solution's times
    ///
    /// For a Sim package each test gets 3 t + 0.2 / (t^2 + 2) seconds, t the model solution's time
    /// on it. For an ICPC package one limit holds for all tests: the slowest accepted submission's
    /// time, multiplied and rounded up as problem.yaml says. Tests run one at a time, unless --jobs
    /// says otherwise: they disturb each other. Nothing is changed without --write.
    ///
    /// Example: millibox problem limits --write
    Limits(Limits),
    /// Judge all submissions of the package
    ///
    /// As `millibox judge` does without a SUBMISSION, and says besides which wrong submissions no
    /// test catches, and how far the slow ones are beyond the limit.
    Test(Test),
    /// Pack a package
    ///
    /// The same files make the same bytes. Only what belongs to the format goes in. Refused if
    /// validate finds errors.
    ///
    /// Example: millibox problem zip sums -o sums.zip
    Zip(Zip),
    /// Remove what gen made
    ///
    /// Files that gen made in this directory, and that nobody has changed since.
    ///
    /// Example: millibox problem clean --dry-run
    Clean(Clean),
}

impl Command {
    /// The package that there should be.
    pub fn package(&self) -> Option<&Path> {
        Some(match self {
            Command::Init(_) => return None,
            Command::Gen(args) => &args.package,
            Command::Validate(args) => &args.on.package,
            Command::Limits(args) => &args.on.package,
            Command::Test(args) => &args.on.package,
            Command::Zip(args) => &args.on.package,
            Command::Clean(args) => &args.package,
        })
    }
}

/// On what, and how.
#[derive(Debug, clap::Args)]
pub struct On {
    /// The package: a directory, or, where nothing in it is changed, a .zip
    #[arg(value_name = "PACKAGE", default_value = ".")]
    pub package: PathBuf,
    #[command(flatten)]
    pub work: Work,
}

/// Options of `init`.
#[derive(Debug, clap::Args)]
pub struct Init {
    /// Where: a directory that is empty or not there
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Format of the package
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub format: Format,
    /// Title; without it, the directory's name
    #[arg(long, value_name = "TITLE")]
    pub name: Option<String>,
    /// Submissions talk to an interactor
    #[arg(long)]
    pub interactive: bool,
    /// Leave the tests to `millibox problem gen`
    #[arg(long)]
    pub no_gen: bool,
    #[command(flatten)]
    pub work: Work,
}

/// Values of `--format`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// ICPC, version 2025-09
    #[default]
    Icpc,
    /// ICPC, version legacy: for problemtools and older DOMjudges
    IcpcLegacy,
    /// Sim
    Sim,
}

impl From<Format> for init::Format {
    fn from(format: Format) -> init::Format {
        match format {
            Format::Icpc => init::Format::Icpc,
            Format::IcpcLegacy => init::Format::Legacy,
            Format::Sim => init::Format::Sim,
        }
    }
}

/// Options of `gen`.
#[derive(Debug, clap::Args)]
pub struct Gen {
    /// The package's directory
    #[arg(value_name = "PACKAGE", default_value = ".")]
    pub package: PathBuf,
    #[command(flatten)]
    pub work: Work,
    /// Only these tests, after the package: . secret/3-random, or . 2a
    ///
    /// A test's name or its last part, a directory for all tests below it, or a pattern as
    /// `millibox judge --tests` has them: 'secret/1*'.
    #[arg(value_name = "TEST")]
    pub tests: Vec<String>,
    /// Make also what is there already, made of the same things
    #[arg(long)]
    pub all: bool,
    /// Make everything twice, and fail if it is not the same
    ///
    /// Finds generators and solutions that depend on the time, on addresses, on what is in memory.
    /// What is up to date is made, too, as with --all.
    #[arg(long)]
    pub check: bool,
    /// Tell what was made as one JSON object
    ///
    /// Keys: made [{path, test, by, seed, bytes, changed}], current (a number of files).
    #[arg(long)]
    pub json: bool,
}

/// Options of `validate`.
#[derive(Debug, clap::Args)]
pub struct Validate {
    #[command(flatten)]
    pub on: On,
    /// Tell what was found as one JSON object
    ///
    /// Keys: faults [{severity, path, line, column, message}], tests, validations, answers
    /// (numbers).
    #[arg(long)]
    pub json: bool,
}

/// Options of `limits`.
#[derive(Debug, clap::Args)]
pub struct Limits {
    #[command(flatten)]
    pub on: On,
    /// Change Simfile, or problem.yaml
    ///
    /// The limits alone: comments and everything else stay. A limit that stands in
    /// domjudge-problem.ini or .timelimit is changed there.
    #[arg(long)]
    pub write: bool,
    /// Tell what was measured as one JSON object
    ///
    /// Keys: formula, limit, stated, tests [{test, submission, time, memory, limit, stated}],
    /// skipped [{submission, reason}], written; times in seconds, memory in bytes.
    #[arg(long)]
    pub json: bool,
}

/// Options of `test`.
#[derive(Debug, clap::Args)]
pub struct Test {
    #[command(flatten)]
    pub on: On,
    /// Tell what came of it as one JSON object
    ///
    /// What `millibox judge --report json` writes, and the keys slow [{name, times, at_least,
    /// test}] and remarks.
    #[arg(long)]
    pub json: bool,
}

/// Options of `zip`.
#[derive(Debug, clap::Args)]
pub struct Zip {
    #[command(flatten)]
    pub on: On,
    /// The archive; without it, NAME.zip beside the package's directory NAME, or in place of a
    /// PACKAGE that is one
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Pack it whatever is wrong with it, without looking
    #[arg(long)]
    pub force: bool,
    /// Tell what was packed as one JSON object
    ///
    /// Keys: path, bytes, files, left_out.
    #[arg(long)]
    pub json: bool,
}

/// Options of `clean`.
#[derive(Debug, clap::Args)]
pub struct Clean {
    /// The package's directory
    #[arg(value_name = "PACKAGE", default_value = ".")]
    pub package: PathBuf,
    /// Only the files of these tests, named as for gen
    #[arg(value_name = "TEST")]
    pub tests: Vec<String>,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Throw compiled programs away, too: those of all packages
    #[arg(long)]
    pub programs: bool,
    /// Tell what was removed as one JSON object
    ///
    /// Keys: removed, kept (paths), programs (a number).
    #[arg(long)]
    pub json: bool,
}

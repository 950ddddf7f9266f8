//! The command line of `millibox problem`.

use crate::judge_setup::JudgeSetupOptions;
use clap::{Subcommand, ValueEnum};
use millibox_setter::init;
use std::path::{Path, PathBuf};

/// Options of `millibox problem`.
#[derive(Debug, clap::Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
From an empty directory to an archive:
    millibox problem init sums --name 'Two sums'
    cd sums                            # write statement, generators, validator, submissions
    millibox problem gen               # generate tests that changed
    millibox problem validate          # check the package
    millibox problem limits --write    # set time limits from the model solution
    millibox problem test              # check the verdict of every submission
    millibox problem zip

Each subcommand has its own help: millibox problem gen --help. See docs/guide/problem.md for more.",
    after_long_help = "\
PACKAGE:
  A directory with an ICPC problem package (legacy, 2023-07, 2025-09) or a Sim package. The default
  is the current directory. validate, limits, test and zip also accept an archive.

Programs:
  All programs of a package run in the sandbox, one for each CPU at a time. Compiled programs are
  cached in $XDG_CACHE_HOME/millibox or ~/.cache/millibox. gen keeps a list of the files that it
  created, in the package's directory .millibox. This directory is not part of the format and is
  never packed.

Exit status:
  0      success
  1      the package or one of its programs has an error, which is printed
  2      the package cannot be read, or a file or the sandbox failed
  125    an option is wrong, or the sandbox does not work here (see millibox doctor)
  128+N  millibox received signal N, killed the running programs, and changed no file"
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

/// Subcommands of `millibox problem`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create a working package
    ///
    /// It has a statement, a sample, a generator with tests, an input validator (ICPC), a model
    /// solution and a wrong solution, and with --interactive an interactor. `millibox judge`
    /// accepts it unchanged.
    ///
    /// Example: millibox problem init sums --format sim --name 'Two sums'
    Init(Init),
    /// Convert a package of another system
    ///
    /// PACKAGE is a directory or a .zip archive: a sinolpack of oioioi, a full package of
    /// Codeforces Polygon, a task of CMS in the Italian YAML format, or an export of Hydro. import
    /// writes an ICPC package (2025-09), and lists everything that it has not taken over. It runs
    /// no program, so all tests must exist.
    ///
    /// Example: millibox problem import sum-polygon.zip sum
    Import(Import),
    /// Generate inputs with generators, and answers with the model solution
    ///
    /// The rules are in the Sipfile of a Sim package, or in generators/generators.yaml of an ICPC
    /// package. gen creates a file only if its generator, the arguments, the input or the model
    /// solution changed. It keeps inputs and answers that were written or edited by hand, and warns
    /// if it would create different ones. After an error, no file is changed.
    ///
    /// Example: millibox problem gen . secret/3-random --check
    Gen(Gen),
    /// Check a package for errors
    ///
    /// validate checks all files, including generators.yaml, runs the input validators on every
    /// input and the checker on every answer, and looks for duplicate inputs, unusual line ends and
    /// encodings.
    Validate(Validate),
    /// Compute time limits from the times of the model solution
    ///
    /// In a Sim package, each test has 3 t + 0.2 / (t^2 + 2) seconds, where t is the time of the
    /// model solution. In an ICPC package, one limit applies to all tests: the time of the slowest
    /// accepted submission, multiplied and rounded up as problem.yaml requires. Tests run one at a
    /// time unless --jobs sets another number, because parallel tests slow each other down. Files
    /// are changed only with --write.
    ///
    /// Example: millibox problem limits --write
    Limits(Limits),
    /// Judge all submissions of the package
    ///
    /// This is `millibox judge` without a SUBMISSION. It also reports wrong submissions that no
    /// test catches, and by how much slow submissions exceed the limit.
    Test(Test),
    /// Pack a package
    ///
    /// The same files always give the same archive, byte for byte. The archive contains only files
    /// that belong to the format. zip fails if validate finds errors.
    ///
    /// Example: millibox problem zip sums -o sums.zip
    Zip(Zip),
    /// Remove generated files
    ///
    /// clean removes files that gen created in this directory and that are unchanged since.
    ///
    /// Example: millibox problem clean --dry-run
    Clean(Clean),
}

impl Command {
    /// The package, which must exist.
    pub fn package(&self) -> Option<&Path> {
        Some(match self {
            Command::Init(_) | Command::Import(_) => return None,
            Command::Gen(args) => &args.package,
            Command::Validate(args) => &args.target.package,
            Command::Limits(args) => &args.target.package,
            Command::Test(args) => &args.target.package,
            Command::Zip(args) => &args.target.package,
            Command::Clean(args) => &args.package,
        })
    }
}

/// The package, and options for its programs.
#[derive(Debug, clap::Args)]
pub struct Target {
    /// The package: a directory, or an archive if the subcommand changes no file
    #[arg(value_name = "PACKAGE", default_value = ".")]
    pub package: PathBuf,
    #[command(flatten)]
    pub work: JudgeSetupOptions,
}

/// Options of `init`.
#[derive(Debug, clap::Args)]
pub struct Init {
    /// The directory, which must be empty or not exist
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Format of the package
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub format: Format,
    /// Title [default: the name of the directory]
    #[arg(long, value_name = "TITLE")]
    pub name: Option<String>,
    /// Create an interactive problem
    #[arg(long)]
    pub interactive: bool,
    /// Do not generate tests; `millibox problem gen` generates them later
    #[arg(long)]
    pub no_gen: bool,
    #[command(flatten)]
    pub work: JudgeSetupOptions,
}

/// Options of `import`.
#[derive(Debug, clap::Args)]
pub struct Import {
    /// The package of the other system: a directory or a .zip archive
    #[arg(value_name = "PACKAGE")]
    pub package: PathBuf,
    /// The new directory, which must be empty or not exist
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

/// Values of `--format`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// ICPC, version 2025-09
    #[default]
    Icpc,
    /// ICPC, version legacy, for problemtools and older versions of DOMjudge
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
    pub work: JudgeSetupOptions,
    /// Generate only these tests; PACKAGE must precede them: . secret/3-random, or . 2a
    ///
    /// TEST is the name of a test or its last part, a directory, or a pattern as for `millibox
    /// judge --tests`: 'secret/1*'.
    #[arg(value_name = "TEST")]
    pub tests: Vec<String>,
    /// Generate all files, even those that are up to date
    #[arg(long)]
    pub all: bool,
    /// Generate everything twice, and fail if the results differ
    ///
    /// This finds generators and solutions that depend on the time, on addresses or on
    /// uninitialized memory. Implies --all.
    #[arg(long)]
    pub check: bool,
    /// Print the generated files as one JSON object
    ///
    /// Keys: made [{path, test, by, seed, bytes, changed}], current (the number of files that are
    /// up to date).
    #[arg(long)]
    pub json: bool,
}

/// Options of `validate`.
#[derive(Debug, clap::Args)]
pub struct Validate {
    #[command(flatten)]
    pub target: Target,
    /// Print the result as one JSON object
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
    pub target: Target,
    /// Write the limits to Simfile or problem.yaml
    ///
    /// Comments and all other keys are kept. A limit in domjudge-problem.ini or .timelimit is
    /// changed in that file.
    #[arg(long)]
    pub write: bool,
    /// Print the measurements as one JSON object
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
    pub target: Target,
    /// Print the report as one JSON object
    ///
    /// It has the keys of `millibox judge --report json`, and also slow [{name, times, at_least,
    /// test}] and remarks.
    #[arg(long)]
    pub json: bool,
}

/// Options of `zip`.
#[derive(Debug, clap::Args)]
pub struct Zip {
    #[command(flatten)]
    pub target: Target,
    /// The archive to write [default: NAME.zip beside the directory NAME, or PACKAGE itself if it
    /// is an archive]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Pack the package without validating it
    #[arg(long)]
    pub force: bool,
    /// Print the result as one JSON object
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
    /// Remove only the files of these tests, named as for gen
    #[arg(value_name = "TEST")]
    pub tests: Vec<String>,
    /// Print the files that would be removed, without removing them
    #[arg(long)]
    pub dry_run: bool,
    /// Also remove the cached programs of all packages
    #[arg(long)]
    pub programs: bool,
    /// Print the removed files as one JSON object
    ///
    /// Keys: removed, kept (paths), programs (a number).
    #[arg(long)]
    pub json: bool,
}

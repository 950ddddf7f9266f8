//! Problem packages: what a problem setter writes, read into one model.
//!
//! A package is a directory or a `.zip`; [`read`] looks which format it has:
//!
//! | there is | format |
//! | --- | --- |
//! | `problem.yaml` or `domjudge-problem.ini` | the ICPC problem package format: `legacy`, `2023-07`, `2025-09` |
//! | `Simfile` | Sim's |
//!
//! Either all that is wrong with a package is told at once ([`Faults`]), or there is a [`Problem`],
//! perhaps with warnings.
//!
//! ```no_run
//! match millibox_package::read("problems/hello".as_ref()) {
//!     Ok(problem) => println!("{}: {} tests", problem.name, problem.tests().count()),
//!     Err(faults) => eprintln!("{faults}"),
//! }
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `model` | a problem: tests, groups, limits, checkers, submissions |
//! | `constants` | names that stand for values in other files |
//! | `fault` | what is wrong, and where |
//! | `bound` | how much a package may come to when it is read |
//! | `archive` | a package in a `.zip` |
//! | `tree` | the files of a package |
//! | `temporary` | directories for temporary files, also for who reads packages |
//! | `yaml`, `keys` | YAML with places; maps whose keys are asked for |
//! | `programs` | which files are one program |
//! | `icpc` | the ICPC formats |
//! | `sim` | Sim's format |
//! | `tokens` | flags of the default output validator |
//! | `edit` | limits, written into files that a person wrote |
//!
//! Nothing here runs a program or knows of the sandbox.
#![forbid(unsafe_code)]

mod archive;
mod bound;
mod constants;
pub mod edit;
mod fault;
mod icpc;
mod keys;
pub mod model;
mod programs;
mod sim;
pub mod temporary;
pub mod tokens;
mod tree;
mod yaml;

pub use archive::Unpacked;
pub use bound::Bound;
pub use constants::{Constants, TooLong};
pub use fault::{Fault, Faults, Severity};
pub use model::Problem;
pub use tree::{DEEPEST, LEFT_BEHIND, MOST_ENTRIES};

use fault::Log;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files by which a package is known.
const MARKS: [&str; 3] = ["problem.yaml", "domjudge-problem.ini", "Simfile"];

/// Reads a package: a directory, or an archive, which is unpacked to a temporary directory that
/// lives as long as the [`Problem`]. An archive, or a directory, whose only content is a directory
/// is taken for that.
///
/// An archive has no entry that would lie outside. What a package may come to is bounded; see
/// [`Bound`].
///
/// # Errors
/// All faults of the package, if there is one that forbids judging.
pub fn read(path: &Path) -> Result<Problem, Faults> {
    read_as(path, Reading::ToJudge)
}

/// As [`read`], for whoever makes the tests: how they are made is read too, and what is still to be
/// made is not missing. Inputs and answers of the [`Problem`] then need not exist.
///
/// # Errors
/// As for [`read`], and faults of `generators/generators.yaml`.
pub fn read_unfinished(path: &Path) -> Result<Problem, Faults> {
    read_as(path, Reading::ToMake)
}

/// As [`read`], and looks for faults at what no judge needs: how tests are made.
///
/// # Errors
/// As for [`read`], and faults of `generators/generators.yaml`; but what of it nobody here
/// understands is no more than a warning, since other tools may have made the tests.
pub fn read_whole(path: &Path) -> Result<Problem, Faults> {
    read_as(path, Reading::Whole)
}

/// What a package is read for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    ToJudge,
    /// Its tests may still be to be made.
    ToMake,
    Whole,
}

fn read_as(path: &Path, reading: Reading) -> Result<Problem, Faults> {
    let log = Log::new(path);
    let problem = open(path, reading, &log);
    let warnings = log.finish()?;
    // Without a problem there was an error.
    Ok(Problem {
        warnings,
        ..problem.expect("a problem, or an error")
    })
}

fn open(path: &Path, reading: Reading, log: &Log) -> Option<Problem> {
    let (root, unpacked) = match path.metadata() {
        Err(error) => {
            log.error("", format!("cannot be read: {error}"));
            return None;
        }
        Ok(metadata) if metadata.is_dir() => (path.to_owned(), None),
        Ok(_) => {
            let directory = archive::unpack(path, log)?;
            (directory.path().to_owned(), Some(Arc::new(directory)))
        }
    };
    let Some(main) = main_directory(&root) else {
        log.error("", "no problem package: there is neither problem.yaml nor domjudge-problem.ini nor Simfile");
        return None;
    };
    if let Ok(below) = main.strip_prefix(&root)
        && main != root
    {
        log.enter(below);
    }
    // An archive's own directory has a name that nobody gave it.
    let named = if main == root && unpacked.is_some() {
        path.with_extension("")
    } else {
        main.clone()
    };
    let named = named.canonicalize().unwrap_or(named);
    let label = named
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let icpc = MARKS[..2].iter().any(|mark| main.join(mark).is_file());
    if icpc && main.join(MARKS[2]).is_file() {
        log.warning(
            "Simfile",
            "not read: this is read as an ICPC package, since there is a problem.yaml",
        );
    }
    let problem = if icpc {
        icpc::read(&main, label, reading, log)
    } else {
        sim::read(&main, log)
    };
    Some(Problem {
        unpacked,
        ..problem
    })
}

/// The directory with the package's main file: this one, or the only one in it.
fn main_directory(root: &Path) -> Option<PathBuf> {
    let marked = |directory: &Path| MARKS.iter().any(|mark| directory.join(mark).is_file());
    if marked(root) {
        return Some(root.to_owned());
    }
    let mut entries = std::fs::read_dir(root)
        .ok()?
        .filter_map(Result::ok)
        .filter(|entry| {
            // What macOS puts beside.
            entry.file_name() != "__MACOSX"
                && !entry.file_name().as_encoded_bytes().starts_with(b".")
        });
    let only = entries.next()?;
    // A link may lead out of what was given.
    let directory = only.file_type().is_ok_and(|kind| kind.is_dir());
    (directory && entries.next().is_none() && marked(&only.path())).then(|| only.path())
}

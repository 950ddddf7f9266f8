//! Reads problem packages, which problem setters write, into one model.
//!
//! A package is a directory or a `.zip` archive. [`read`] detects its format:
//!
//! | file | format |
//! | --- | --- |
//! | `problem.yaml` or `domjudge-problem.ini` | the ICPC problem package format: `legacy`, `2023-07`, `2025-09` |
//! | `Simfile` | Sim's format |
//!
//! [`read`] returns a [`Problem`], possibly with warnings, or all errors of the package together
//! ([`Faults`]).
//!
//! ```no_run
//! match millibox_package::read("problems/hello".as_ref()) {
//!     Ok(problem) => println!("{}: {} tests", problem.name, problem.tests().count()),
//!     Err(faults) => eprintln!("{faults}"),
//! }
//! ```
//!
//! | file | content |
//! | --- | --- |
//! | `model` | a problem: tests, groups, limits, checkers, submissions |
//! | `constants` | names that are replaced by their values in other files |
//! | `cause` | causes of errors, for errors that are cloned and compared |
//! | `fault` | the faults of a package and their places |
//! | `machine` | failures of the machine |
//! | `bound` | bounds on the size of a package when it is read |
//! | `archive` | a package in a `.zip` archive |
//! | `tree` | the files of a package |
//! | `temporary` | directories for temporary files, also for callers |
//! | `yaml`, `keys` | YAML with positions; maps with known keys |
//! | `programs` | finds the files that form one program |
//! | `icpc` | the ICPC formats |
//! | `sim` | Sim's format |
//! | `foreign` | converts packages of other systems |
//! | `tokens` | flags of the default output validator |
//! | `edit` | writes limits into files of a package |
//! | `position` | positions in the text of a file, for edits |
//!
//! This crate runs no programs and does not know the sandbox.
#![forbid(unsafe_code)]

mod archive;
mod bound;
mod cause;
mod constants;
pub mod edit;
pub mod fault;
pub mod foreign;
mod icpc;
mod keys;
mod machine;
pub mod model;
mod position;
mod programs;
mod sim;
pub mod temporary;
pub mod tokens;
mod tree;
pub mod yaml;

pub use archive::Unpacked;
pub use bound::{Bound, MAX_DEPTH, MAX_ENTRIES};
pub use cause::Cause;
pub use constants::{Constants, TooLong};
pub use fault::{Fault, FaultKind, Faults, Severity, ToolFault};
pub use machine::is_of_machine;
pub use model::Problem;
pub use tree::PYTHON_CACHE;

use fault::files::FileFault;
use fault::log::Log;
use icpc::Purpose;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files that identify a package.
const MAIN_FILES: [&str; 3] = ["problem.yaml", "domjudge-problem.ini", "Simfile"];

/// Reads a package from a directory or an archive. An archive is unpacked to a temporary directory
/// that lives as long as the [`Problem`]. If the directory or archive contains only one directory,
/// that directory is the package.
///
/// Entries of an archive that lead outside are errors. The size of a package in memory is limited;
/// see [`Bound`].
///
/// # Errors
/// All faults of the package, if one of them is an error.
pub fn read(path: &Path) -> Result<Problem, Faults> {
    read_as(path, Purpose::Judge)
}

/// Like [`read`], for tools that generate the tests. This function also reads how tests are
/// generated, and does not report tests as missing if they can be generated. Inputs and answers of
/// the [`Problem`] do not need to exist.
///
/// # Errors
/// The errors of [`read`], and faults of `generators/generators.yaml`.
pub fn read_unfinished(path: &Path) -> Result<Problem, Faults> {
    read_as(path, Purpose::Generate)
}

/// Like [`read`], but also checks how tests are generated, which judging does not need.
///
/// # Errors
/// The errors of [`read`], and faults of `generators/generators.yaml`. Unsupported content is only
/// a warning, because other tools may have generated the tests.
pub fn read_whole(path: &Path) -> Result<Problem, Faults> {
    read_as(path, Purpose::Validate)
}

fn read_as(path: &Path, purpose: Purpose) -> Result<Problem, Faults> {
    let log = Log::new(path);
    let problem = open(path, purpose, &log);
    let warnings = log.finish()?;
    // If there is no problem, the log has an error.
    Ok(Problem {
        warnings,
        ..problem.expect("a problem, or an error")
    })
}

fn open(path: &Path, purpose: Purpose, log: &Log) -> Option<Problem> {
    let (root, unpacked) = match path.metadata() {
        Err(error) => {
            log.error("", FileFault::Unreadable(error.into()));
            return None;
        }
        Ok(metadata) if metadata.is_dir() => (path.to_owned(), None),
        Ok(_) => {
            let directory = archive::unpack(path, log)?;
            (directory.path().to_owned(), Some(Arc::new(directory)))
        }
    };
    let main = match main_directory(&root) {
        Ok(Some(main)) => main,
        Ok(None) => {
            log.error("", FileFault::NoPackage);
            return None;
        }
        Err(error) => {
            log.error("", FileFault::Unreadable(error.into()));
            return None;
        }
    };
    if let Ok(below) = main.strip_prefix(&root)
        && main != root
    {
        log.enter(below);
    }
    // The directory to which an archive was unpacked has no meaningful name.
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
    let icpc = MAIN_FILES[..2].iter().any(|mark| main.join(mark).is_file());
    if icpc && main.join(MAIN_FILES[2]).is_file() {
        log.warning("Simfile", FileFault::OtherFormat);
    }
    let problem = if icpc {
        icpc::read(&main, label, purpose, log)
    } else {
        sim::read(&main, log)
    };
    Some(Problem {
        unpacked,
        ..problem
    })
}

/// Returns the directory with the main file of the package: `root`, or the only directory in it.
/// Fails only if the machine does.
fn main_directory(root: &Path) -> std::io::Result<Option<PathBuf>> {
    let marked = |directory: &Path| MAIN_FILES.iter().any(|mark| directory.join(mark).is_file());
    if marked(root) {
        return Ok(Some(root.to_owned()));
    }
    let entries = match std::fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if is_of_machine(&error) => return Err(error),
        Err(_) => return Ok(None),
    };
    let mut entries = entries.filter_map(Result::ok).filter(|entry| {
        // macOS adds a directory of this name.
        entry.file_name() != "__MACOSX" && !entry.file_name().as_encoded_bytes().starts_with(b".")
    });
    let Some(only) = entries.next() else {
        return Ok(None);
    };
    // A link may lead out of the given directory.
    let directory = only.file_type().is_ok_and(|kind| kind.is_dir());
    let is_main = directory && entries.next().is_none() && marked(&only.path());
    Ok(is_main.then(|| only.path()))
}

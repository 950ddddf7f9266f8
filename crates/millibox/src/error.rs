//! What can go wrong on the client's side.

use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// Why something could not be had. A run's own failure is no error here but an
/// [`Outcome`](crate::Outcome).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The supervisor's executable was not found in any of these places.
    #[error(
        "cannot find millibox-supervisor (looked at {}); build it in a checkout of millibox (cargo build --release --bin \
         millibox-supervisor), and put it beside this program or set MILLIBOX_SUPERVISOR to its path; or make install \
         there, which puts it on PATH", shown(.0)
    )]
    NoSupervisor(Vec<PathBuf>),
    /// The supervisor's executable cannot be executed.
    #[error("cannot execute the supervisor {}: {error}{}", named(.path, *.named_by), remedy(.error, *.named_by))]
    NotExecuted {
        /// The executable.
        path: PathBuf,
        /// The environment variable or the method that names it, if it was not looked for.
        named_by: Option<&'static str>,
        /// The kernel's answer.
        error: std::io::Error,
    },
    /// What was executed is no supervisor, or not of this version.
    #[error("{} is no millibox-supervisor of this version: {why}", named(.path, *.named_by))]
    NotSupervisor {
        /// The executable.
        path: PathBuf,
        /// The environment variable or the method that names it, if it was not looked for.
        named_by: Option<&'static str>,
        /// What it did instead of greeting.
        why: String,
    },
    /// The supervisor could not be started; these are its own words.
    #[error("cannot start the supervisor: {0}")]
    Start(String),
    /// The supervisor has died, or the connection was closed; these are its last words.
    #[error("supervisor died: {0}")]
    Died(String),
    /// The request makes no sense; nothing was sent.
    #[error("{0}")]
    Request(String),
    /// A system call of the client's own failed.
    #[error("cannot {what}: {error}{}", remedy(.error, None))]
    System {
        /// What was being done.
        what: &'static str,
        /// The kernel's answer.
        error: std::io::Error,
    },
}

impl Error {
    pub(crate) fn system(what: &'static str) -> impl Fn(rustix::io::Errno) -> Error {
        move |errno| Error::System { what, error: errno.into() }
    }
}

fn named(path: &Path, by: Option<&str>) -> String {
    match by {
        Some(by) => format!("{} ({by})", path.display()),
        None => path.display().to_string(),
    }
}

/// What to do about too many open files, as the kernel says to us or to the supervisor (EMFILE).
pub(crate) const MORE_FILES: &str = "; raise the limit on open files (ulimit -n) around this program";

/// What to do about a path that leads to no file, or too many files.
fn remedy(error: &std::io::Error, named_by: Option<&str>) -> String {
    match (Errno::from_io_error(error), named_by) {
        (Some(Errno::NOENT), Some(by)) => format!("; {by} must name a millibox-supervisor, or be left out"),
        (Some(Errno::MFILE), _) => MORE_FILES.to_owned(),
        _ => String::new(),
    }
}

fn shown(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

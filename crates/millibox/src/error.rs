//! What can go wrong on the client's side.

use std::path::PathBuf;

/// Why something could not be had. A run's own failure is no error here but an
/// [`Outcome`](crate::Outcome).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The supervisor's executable was not found in any of these places.
    #[error(
        "cannot find millibox-supervisor (looked at {}); install it beside this program, or set MILLIBOX_SUPERVISOR \
         to its path", shown(.0)
    )]
    NoSupervisor(Vec<PathBuf>),
    /// The supervisor's executable is there and cannot be executed.
    #[error("cannot execute the supervisor {}: {error}", .path.display())]
    NotExecuted {
        /// The executable.
        path: PathBuf,
        /// The kernel's answer.
        error: std::io::Error,
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
    #[error("cannot {what}: {error}")]
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

fn shown(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

//! Errors of the lab.

/// Why an experiment failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] millibox::Error),
    /// A step of the lab failed.
    #[error("cannot {what}: {error}")]
    System {
        /// The step and its object.
        what: String,
        /// The kernel's error.
        error: std::io::Error,
    },
    /// Another sandbox's command exceeded its time and was killed.
    #[error("{name}: did not end within {seconds} s and was killed")]
    Timeout {
        /// The command.
        name: String,
        /// The time that it had.
        seconds: u64,
    },
    /// [`interrupt`](crate::interrupt()) was called.
    #[error("interrupted")]
    Interrupted,
    /// Any other failure, as a sentence.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// For `map_err`: a step of the lab failed.
    pub fn system<E: Into<std::io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Error {
        let what = what.into();
        move |error| Error::System {
            what,
            error: error.into(),
        }
    }

    /// Any other failure, as a sentence.
    pub fn other(why: impl Into<String>) -> Error {
        Error::Other(why.into())
    }
}

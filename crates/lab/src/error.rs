//! Errors of the lab.

/// The reason why an experiment failed.
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
        /// The time limit of the command.
        seconds: u64,
    },
    /// A file that the experiment needs was not built.
    #[error("{name} is not beside millibox-lab; build it there with: {command}")]
    NotBuilt {
        /// The name of the file.
        name: &'static str,
        /// The command that builds the file.
        command: &'static str,
    },
    /// A program that measures a binding has failed.
    #[error("the driver in {name} failed at `{command}`: {message}")]
    Driver {
        /// The language of the driver.
        name: &'static str,
        /// The command that the driver did not answer.
        command: String,
        /// The text that the driver has written to standard error.
        message: String,
    },
    /// [`interrupt`](crate::interrupt()) was called.
    #[error("interrupted")]
    Interrupted,
    /// Any other failure, described by a sentence.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// Returns a function for `map_err` that reports a failed step of the lab.
    pub fn system<E: Into<std::io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Error {
        let what = what.into();
        move |error| Error::System {
            what,
            error: error.into(),
        }
    }

    /// Any other failure, described by a sentence.
    pub fn other(why: impl Into<String>) -> Error {
        Error::Other(why.into())
    }
}

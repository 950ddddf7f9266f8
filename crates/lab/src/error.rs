//! What can go wrong in the lab.

/// Why an experiment could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The sandbox failed.
    #[error(transparent)]
    Sandbox(#[from] millibox::Error),
    /// A step of the lab's own failed.
    #[error("cannot {what}: {error}")]
    System {
        /// What was being done, with what.
        what: String,
        /// The kernel's answer.
        error: std::io::Error,
    },
    /// Another's command did not end, and was killed.
    #[error("{name}: no end within {seconds} s; it was killed")]
    NoEnd {
        /// The command.
        name: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// [`interrupt`](crate::interrupt()) was called.
    #[error("interrupted")]
    Interrupted,
    /// Anything else, in its own words.
    #[error("{0}")]
    Says(String),
}

impl Error {
    /// For `map_err`: a step of the lab's own that failed.
    pub fn system<E: Into<std::io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Error {
        let what = what.into();
        move |error| Error::System { what, error: error.into() }
    }

    /// Something that makes no sense, or did not come out as it must.
    pub fn says(why: impl Into<String>) -> Error {
        Error::Says(why.into())
    }
}

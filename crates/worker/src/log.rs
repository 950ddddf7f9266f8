//! The log of a program that judges.

use tracing_subscriber::EnvFilter;

/// Writes messages to standard error. `usual` selects them (see [`EnvFilter`]) unless the variable
/// `MILLIBOX_LOG` does.
///
/// # Panics
/// The process has a log already.
pub fn start(usual: &str) {
    let filter = EnvFilter::try_from_env("MILLIBOX_LOG");
    let filter = filter.unwrap_or_else(|_| EnvFilter::new(usual));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
}

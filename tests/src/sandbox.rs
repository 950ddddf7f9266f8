//! Supervisors, and requests to run the probe.

use crate::{executable, open, pipe, read_line};
use millibox::{BackendChoice, Builder, Handle, Request, Supervisor, World};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

/// A timeout so long that only a hang exceeds it, even on a slow and busy machine.
pub const HANG_TIMEOUT: Duration = Duration::from_secs(60);

/// A builder for a supervisor with two slots and the best available backend.
pub fn builder() -> Builder {
    Supervisor::builder().backend(BackendChoice::Auto).slots(2)
}

/// A supervisor with the best available backend.
pub fn supervisor() -> Supervisor {
    start(builder())
}

/// Starts a supervisor. Panics with the error if it cannot.
pub fn start(builder: Builder) -> Supervisor {
    builder.start().unwrap_or_else(|error| panic!("{error}"))
}

/// A descriptor of the probe, so that the world need not contain it.
pub fn probe() -> Arc<OwnedFd> {
    open(&executable("probe"))
}

/// A request to run the probe with these arguments in the minimal world.
pub fn request<S: Into<OsString>>(arguments: impl IntoIterator<Item = S>) -> Request {
    Request::from_descriptor(probe())
        .arg("probe")
        .args(arguments)
}

/// The minimal world with a procfs.
pub fn world_with_proc() -> World {
    World::minimal().mount(millibox::Mount::proc("/proc"))
}

/// Starts a probe that sleeps, and waits until it is running.
pub fn start_sleeper(supervisor: &Supervisor, more: &[&str]) -> (Handle, OwnedFd) {
    let (read, write) = pipe();
    let request = request(["ready-sleep", "100000"])
        .args(more.iter().copied())
        .stdout(write);
    let handle = supervisor
        .run(&request)
        .unwrap_or_else(|error| panic!("{error}"));
    drop(request);
    assert_eq!(read_line(&read), "ready");
    (handle, read)
}

//! Runs programs that live for milliseconds, in a sandbox, without privileges.
//!
//! The words of this world:
//!
//! * a [`Supervisor`] is the server process; start one and keep it;
//! * a [`Pool`] is one of them for each CPU, for very many very short runs;
//! * a [`World`] is what a program sees: files, ids, network, system calls. Runs in equal
//!   worlds share what can be prepared ahead, so keep what differs out of it;
//! * a [`Request`] is a program with arguments, descriptors and limits, in a world;
//! * a [`Handle`] stands for one run that was asked for: wait, poll, kill, cancel;
//! * a [`RunResult`] says what came of it, and what it used.
//!
//! ```no_run
//! use millibox::{Outcome, Request, Supervisor};
//! use std::time::Duration;
//!
//! let supervisor = Supervisor::start()?;
//! let request = Request::new("/bin/true")
//!     .memory_limit(64 << 20)
//!     .real_time_limit(Duration::from_secs(1));
//! let first = supervisor.run(&request)?;
//! let second = supervisor.run(&request)?; // does not wait for the first
//! assert_eq!(second.wait()?.outcome, Outcome::Exited(0));
//! assert_eq!(first.wait()?.outcome, Outcome::Exited(0));
//! # Ok::<(), millibox::Error>(())
//! ```
//!
//! [`Supervisor::output`] passes input to a program and returns what it wrote. A `File` or a `PipeWriter`
//! becomes a stream by `OwnedFd::from`. [`Handle::wait_async`] waits in any asynchronous runtime.
//!
//! The executable `millibox-supervisor` is not built with a dependency on this crate: in a checkout of the same version
//! say `cargo build --release --bin millibox-supervisor` and set `MILLIBOX_SUPERVISOR` to its path, or `make install`.
//!
//! | file | what |
//! | --- | --- |
//! | `start` | finding and starting the supervisor |
//! | `pool` | several supervisors as one |
//! | `world`, `request` | what can be asked for |
//! | `connection` | the socket: sending without waiting, results in any order |
//! | `handle` | one run |
//! | `output` | moving a run's output, and its limit |
#![forbid(unsafe_code)]

mod capture;
mod connection;
mod error;
mod handle;
#[cfg(test)]
mod messages;
mod output;
mod pool;
mod request;
mod start;
mod world;

/// The policy compiler: policies, and the profiles as policies, for [`World::seccomp`].
pub use millibox_seccomp as seccomp;

pub use capture::Output;
pub use error::{Error, RequestError};
pub use handle::{Handle, Wait};
pub use millibox_wire::{
    Backend, Figures, FrameProblem, Hint, Limit, LimitError, Mount, Network, Outcome, ProcessEnd,
    RunError, RunResult, Step, WorldError, WorldProblem,
};
pub use output::{Budget, Moved, move_output};
pub use pool::Pool;
pub use request::{Program, Request};
pub use start::{BackendChoice, Builder, Supervisor};
pub use world::World;

//! Runs untrusted programs that live for milliseconds in a sandbox, without privileges.
//!
//! * A [`Supervisor`] is the server process. Start one and keep it.
//! * A [`Pool`] has one supervisor for each CPU, for large numbers of very short runs.
//! * A [`World`] is what a program sees: files, ids, network and system calls. Runs in equal worlds
//!   share their preparation, so keep values that differ between runs out of the world.
//! * A [`Request`] is a program with arguments, descriptors and limits, in a world.
//! * A [`Handle`] stands for one requested run: wait for it, poll it, kill it or cancel it.
//! * A [`RunResult`] reports how the run ended and what it used.
//!
//! ```
//! # fn main() -> Result<(), millibox::Error> {
//! # if millibox::Supervisor::start().is_err() { return Ok(()); }
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
//! # Ok(())
//! # }
//! ```
//!
//! [`Supervisor::output`] passes input to a program and returns what it wrote. A `File` or a
//! `PipeWriter` becomes a stream by `OwnedFd::from`. A handle can be awaited in any asynchronous
//! runtime. The feature `tokio` adds `Supervisor::output_async`.
//!
//! Cargo does not build the executable `millibox-supervisor` with a dependency on this crate. In a
//! checkout of the same version run `cargo build --release --bin millibox-supervisor` and set
//! `MILLIBOX_SUPERVISOR` to its path, or run `make install`.
//!
//! | file | content |
//! | --- | --- |
//! | `builder`, `executable` | the options of a supervisor; finding and starting it |
//! | `supervisor`, `info` | a running supervisor |
//! | `process` | waiting for the end of its process |
//! | `launch` | supervisors that another process starts |
//! | `pool` | several supervisors as one |
//! | `world`, `request` | what a caller can request |
//! | `connection` | the socket: requests without waiting, results in any order |
//! | `handle` | one run |
//! | `capture`, `tokio_output` | input from memory, captured output |
//! | `output` | moving a run's output with a limit |
#![forbid(unsafe_code)]

mod builder;
mod capture;
mod connection;
mod error;
mod executable;
mod handle;
mod info;
mod launch;
#[cfg(test)]
mod messages;
mod output;
mod pool;
mod process;
mod request;
mod start_error;
mod supervisor;
#[cfg(feature = "tokio")]
mod tokio_output;
mod world;

/// The policy compiler: policies and the built-in profiles, for [`World::seccomp`].
pub use millibox_seccomp as seccomp;

pub use builder::{BackendChoice, Builder};
pub use capture::Output;
pub use error::{Error, RequestError};
pub use handle::{Handle, Wait, WaitOwned};
pub use info::{Info, Warning};
pub use launch::{LaunchOptions, Launched, LaunchedProcess, Launcher};
pub use millibox_wire::{
    Backend, Figures, FrameProblem, Hint, Limit, LimitError, Mount, Network, Outcome, ProcessEnd,
    RunError, RunResult, Step, SupervisorError, SupervisorHint, SupervisorStep, WorldError,
    WorldProblem,
};
pub use output::{Budget, Moved, move_output};
pub use pool::Pool;
pub use request::{Program, Request};
pub use start_error::{EndReason, StartError};
pub use supervisor::Supervisor;
pub use world::World;

//! Runs untrusted programs that live for milliseconds in a sandbox, without privileges.
//!
//! * A [`Supervisor`] is the server process. Start one and keep it.
//! * A [`Pool`] has one supervisor for each CPU, for large numbers of very short runs.
//! * A [`World`] is what a program sees: files, ids, network and system calls. Runs in equal worlds
//!   share their preparation, so keep values that differ between runs out of the world.
//! * A [`Request`] is a program with arguments, descriptors and limits, in a world.
//! * A [`Handle`] represents one requested run. Use it to wait for, poll, kill or cancel the run.
//! * A [`RunResult`] reports how the run ended and which resources it used.
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
//! [`Supervisor::output`] passes input to a program and returns its output. `OwnedFd::from` turns a
//! `File` or a `PipeWriter` into a standard stream. A handle can be awaited in any asynchronous
//! runtime. The feature `tokio` adds `Supervisor::output_async`.
//!
//! Cargo does not build the executable `millibox-supervisor` as part of a dependency on this crate.
//! In a checkout of the same version, run `cargo build --release --bin millibox-supervisor` and set
//! `MILLIBOX_SUPERVISOR` to its path, or run `make install`.
//!
//! | file | content |
//! | --- | --- |
//! | `builder`, `executable`, `starting` | the options of a supervisor; finding and starting it |
//! | `supervisor`, `info` | a running supervisor |
//! | `process` | waiting for the end of its process |
//! | `launcher`, `launch` | supervisors that another process starts |
//! | `pool` | several supervisors as one |
//! | `world`, `mount`, `request` | what a caller can request |
//! | `names`, `memory_file` | parts of requests: names in errors, files in memory |
//! | `sources` | the files to which the sources of mounts lead |
//! | `prepare` | programs that are started once and copied for each run |
//! | `error`, `start_error`, `mistakes`, `remedy` | errors, lists of mistakes, and remedies |
//! | `result` | how a run ended |
//! | `convert` | conversions between these types and the protocol's types |
//! | `connection` | the socket: requests without waiting, results in any order |
//! | `handle` | one run |
//! | `capture`, `tokio_output` | input from memory, captured output |
//! | `tracing` | explaining what a program lacked |
//! | `output` | moving a run's output with a limit |
#![forbid(unsafe_code)]

mod builder;
mod capture;
mod connection;
mod convert;
mod error;
mod executable;
mod handle;
mod info;
mod launch;
mod launcher;
mod memory_file;
#[cfg(test)]
mod messages;
mod mistakes;
mod mount;
mod names;
mod output;
mod pool;
mod prepare;
mod process;
mod remedy;
mod request;
mod result;
mod sources;
mod start_error;
mod starting;
mod supervisor;
#[cfg(feature = "tokio")]
mod tokio_output;
mod tracing;
mod version;
mod world;

/// The policy compiler: policies and the built-in profiles, for [`World::seccomp`].
pub use millibox_seccomp as seccomp;

/// The explanation of a run, from [`Request::explain`].
pub use millibox_explain as explain;

pub use builder::{BackendChoice, Builder};
pub use capture::{Capture, Output, Streams};
pub use error::{Error, RequestMistake};
pub use handle::{Handle, Wait, WaitOwned};
pub use info::{Info, Warning};
pub use launch::LaunchedProcess;
pub use launcher::{LaunchOptions, Launched, Launcher};
#[doc(inline)]
pub use millibox_vocabulary::{
    Backend, BackendCause, BackendRefusal, BackendStep, FrameProblem, Hint, Limit, LimitError,
    ProcessEnd, RunError, Step, SupervisorError, SupervisorHint, SupervisorStep, TemplateProblem,
    Unfit, WorldError, WorldProblem,
};
pub use mistakes::Mistakes;
pub use mount::{BindMount, Mount, ProcMount, TmpfsMount};
pub use output::{Budget, Moved, move_output};
pub use pool::Pool;
pub use prepare::{Prepare, Prepared};
pub use request::{Program, Request};
pub use result::{Figures, Outcome, RunResult, Start};
pub use start_error::{EndReason, FrameFault, OptionMistake, StartError};
pub use starting::Starting;
pub use supervisor::Supervisor;
pub use world::{NO_LEAK_SANITIZER, Network, STANDARD_ENVIRONMENT, World};

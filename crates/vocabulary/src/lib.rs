//! The steps, hints and errors that library, protocol and supervisor share.
//!
//! The supervisor creates an error where a step fails. The protocol carries it, and the client
//! library returns it to its caller, so these types are public in `millibox`. Each error is a value
//! with step, subject, errno and hint, and its `Display` is the only place that renders it.
//!
//! Requests and results are not part of this crate. The protocol (`millibox-wire`) and the library
//! have their own types, so that the protocol can change without a change to the library's
//! interface. All enums and structs that may grow are `#[non_exhaustive]`.
//!
//! ```
//! use millibox_vocabulary::{RunError, Step};
//! let error = RunError::new(Step::Exec).with_errno(2).with_subject("/missing");
//! assert_eq!(error.step, Step::Exec);
//! ```
#![forbid(unsafe_code)]

mod backend;
mod limit_error;
#[cfg(test)]
mod messages;
pub mod path;
mod process_end;
mod run_error;
mod signal;
mod step;
mod supervisor_error;
mod template_problem;
mod world_error;

pub use backend::{Backend, BackendCause, BackendRefusal, BackendStep};
pub use limit_error::{
    DEFAULT_PROCESS_LIMIT, Limit, LimitError, MAX_BANDWIDTH_PERIOD_US, MAX_PROCESS_LIMIT,
    MIN_BANDWIDTH_US,
};
pub use process_end::ProcessEnd;
pub use run_error::{Cause, FrameProblem, Hint, RunError};
pub use signal::signal_name;
pub use step::Step;
pub use supervisor_error::{SupervisorError, SupervisorHint, SupervisorStep};
pub use template_problem::{TemplateProblem, Unfit};
pub use world_error::{WorldError, WorldProblem};

/// The number of CPUs that a request can name: 0 to `MAX_CPUS - 1`.
pub const MAX_CPUS: usize = 1024;

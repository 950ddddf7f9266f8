//! The seccomp policy compiler of millibox.
//!
//! These are the terms, in the order in which compilation produces them:
//!
//! - A **policy** ([`Policy`]) is a TOML file. It assigns an action to every system call.
//! - A policy consists of **rules** ([`Rule`]). A rule has an [`Action`], names system calls, and
//!   may have conditions on their arguments ([`Condition`]).
//! - For one architecture ([`Arch`]), system call names become numbers. Consecutive numbers with
//!   the same action form **intervals**.
//! - The **program** ([`Program`]) searches for the interval of a number, then tests the
//!   conditions. It consists of classic BPF instructions, which seccomp(2) attaches to a thread.
//!
//! [`compile()`] turns a policy into a program. [`run`] interprets a program for one call.
//! [`constant_action`] computes the result that does not depend on arguments. [`validate()`] checks
//! whether the kernel would accept a program. [`profile`] returns the built-in policies. This crate
//! makes no system call.
//!
//! ```
//! use millibox_seccomp::{Action, Arch, Data, Policy, compile, constant_action, run};
//!
//! let policy: Policy = r#"
//!     name = "no networks"
//!     description = "Every system call, but only local sockets."
//!     default = "allow"
//!
//!     [[rule]]
//!     action = "errno:EAFNOSUPPORT"
//!     why = "AF_UNIX is 1. The kernel reads an int here, so the mask drops the upper half."
//!     syscalls = ["socket"]
//!     when = [{ arg = 0, mask = 0xffff_ffff, not_equal = 1 }]
//! "#
//! .parse()?;
//!
//! let arch = Arch::X86_64;
//! let program = compile(&policy, arch)?;
//!
//! let socket = arch.number("socket").unwrap();
//! let call = Data { nr: socket, arch: arch.audit_value(), ..Data::default() };
//! assert_eq!(run(&program, &Data { args: [1, 0, 0, 0, 0, 0], ..call }), Action::Allow.value());
//! assert_eq!(run(&program, &Data { args: [2, 0, 0, 0, 0, 0], ..call }), Action::Errno(97).value());
//!
//! // If a result depends on no argument, the kernel computes it once, when it attaches the filter.
//! assert_eq!(constant_action(&program, arch, 0), Some(Action::Allow.value()));
//! assert_eq!(constant_action(&program, arch, socket), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod arch;
mod compile;
mod errno;
mod instruction;
mod interpret;
mod pass;
mod policy;
mod profiles;
mod program;
mod validate;

pub use arch::Arch;
pub use compile::compile;
pub use instruction::Instruction;
pub use interpret::{Data, constant_action, run};
pub use pass::with_pass;
pub use policy::{
    Action, ActionError, Comparison, Condition, Decision, Policy, PolicyError, Problem, Rule,
};
pub use profiles::{default_profile, profile, profile_names, profile_with_loopback};
pub use program::Program;
pub use validate::{MAX_INSTRUCTIONS, ValidateError, validate};

//! The seccomp policy compiler of millibox.
//!
//! The words of this world, in the order they turn into each other:
//!
//! - A **policy** ([`Policy`]) is a TOML file that a person can read. It says what becomes of
//!   every system call.
//! - It consists of **rules** ([`Rule`]). A rule has an [`Action`], names system calls, and may
//!   have conditions on their arguments ([`Condition`]).
//! - For one architecture ([`Arch`]), the names are numbers, and numbers in a row with the same
//!   answer form **intervals**.
//! - A search for the interval of a number, with the conditions at its end, is the **program**
//!   ([`Program`]): the instructions of classic BPF that seccomp(2) attaches to a thread.
//!
//! [`compile`] goes all the way. [`run`] asks a program what it answers, [`constant_action`] what
//! it answers whatever the arguments are, and [`validate`] whether the kernel would take it.
//! [`profile`] has the policies that come with the crate. Nothing here makes a system call.
//!
//! ```
//! use millibox_seccomp::{Action, Arch, Data, Policy, compile, constant_action, run};
//!
//! let policy: Policy = r#"
//!     name = "no networks"
//!     description = "Everything, but sockets of this machine only."
//!     default = "allow"
//!
//!     [[rule]]
//!     action = "errno:EAFNOSUPPORT"
//!     why = "AF_UNIX is 1. The kernel takes an int here, so the upper half must not count."
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
//! // What depends on no argument, the kernel finds out once, when the filter is attached.
//! assert_eq!(constant_action(&program, arch, 0), Some(Action::Allow.value()));
//! assert_eq!(constant_action(&program, arch, socket), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod arch;
mod compile;
mod errno;
mod interpret;
mod pass;
mod policy;
mod profiles;
mod program;
mod validate;

pub use arch::Arch;
pub use compile::compile;
pub use interpret::{Data, constant_action, run};
pub use pass::with_pass;
pub use policy::{Action, ActionError, Comparison, Condition, Policy, PolicyError, Problem, Rule};
pub use profiles::{profile, profile_names, profile_with_loopback};
pub use program::{Instruction, Program};
pub use validate::{MAX_INSTRUCTIONS, ValidateError, validate};

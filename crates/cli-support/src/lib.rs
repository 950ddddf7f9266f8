//! Code that the executables of millibox share.
//!
//! | file | content |
//! | --- | --- |
//! | `failure` | why a command has no result, its exit status, and how to print without a panic |
//! | `machine` | the options of every command that starts a supervisor |
//! | `man` | manual pages of a command line |
//! | `notify` | tells systemd that a service is ready |
//! | `program` | the main function of the programs that `millibox` executes |
//! | `signals` | Ctrl-C and other signals that end a command in order |
//! | `usage` | clap's errors in one line |
//! | `values` | parsers of option values that several executables need |
#![forbid(unsafe_code)]
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic if the stream is closed"
)]

pub mod failure;
pub mod machine;
pub mod man;
pub mod notify;
pub mod program;
pub mod signals;
pub mod usage;
pub mod values;

//! The core of the service: admission, execution and results. It does not know HTTP.
//!
//! | file | content |
//! | --- | --- |
//! | `access` | the rights of clients to runs, submissions and files |
//! | `plan` | the memory that one request may make the service keep |
//! | `budget` | the output that one request may make the service keep |
//! | `execution` | one sandboxed process: the request and the report |
//! | `engine` | executes programs on two supervisors |
//! | `workspace` | files that go into a run and come out of it |
//! | `catalog` | runtimes, and programs compiled for them |
//! | `content` | gives runs the content of files |
//! | `compare` | comparison of output with the expected output |
//! | `files` | stored files, named by their content |
//! | `ids` | ids that name their executor |
//! | `judging` | a submission to a problem package |
//! | `program` | a program on several inputs |
//! | `queue` | which waiting request runs next, and which is refused |
//! | `share` | the share of one client or address in a shared pool |
//! | `tree` | the whole working directory of a run as an archive |
//! | `registry` | runs in flight by id, and kept answers |
//! | `terminal` | a terminal between a client and a program |

pub mod access;
pub mod budget;
pub mod catalog;
pub mod compare;
mod content;
pub mod engine;
pub mod execution;
pub mod files;
pub mod ids;
pub mod judging;
pub mod plan;
pub mod program;
pub mod queue;
pub mod registry;
pub mod share;
pub mod terminal;
mod tree;
mod workspace;

pub use workspace::Stage;

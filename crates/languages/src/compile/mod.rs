//! Compiles submissions, checkers and all other programs in the sandbox.
//!
//! A [`Toolbox`] finds the tools of the suites, tests them, and compiles sources into an
//! [`Executable`](crate::program::Executable).
//!
//! | file | content |
//! | --- | --- |
//! | `toolbox` | the interface |
//! | `options` | options and result of a compilation |
//! | `error` | why a compilation produced no program |
//! | `sources` | reads sources from the host |
//! | `input` | selects the sources to compile and the main source |
//! | `supervisor_ref` | a supervisor that is borrowed or shared |
//! | `linked` | static or dynamic linking |
//! | `builder` | builds a product and checks that its suite works |
//! | `build` | one run of a compiler |
//! | `product` | unpacks the files that leave the sandbox |
//! | `executable` | command line, environment and world of a product |
//! | `class` | finds the Java class with a main method |
//! | `java` | finds the classes that a Java source declares |
//! | `tools`, `availability` | finds the tools of a suite, and reports what is missing |
//! | `reach` | directories that are closed to the sandbox's user |
//! | `captured` | runs a program and captures its output |
//! | `messages` | makes compiler messages safe to show |
//! | `placeholders`, `world` | commands, environments and worlds |
//! | `memo` | values that are computed once |

mod availability;
mod build;
mod builder;
mod captured;
mod class;
mod error;
mod executable;
mod input;
mod java;
mod linked;
mod memo;
mod messages;
mod options;
mod placeholders;
mod product;
mod reach;
mod sources;
mod supervisor_ref;
mod toolbox;
mod tools;
mod world;

pub use availability::{Availability, InstallationFault, Obstacle, QueryFault, Remedy, ToolFault};
pub use captured::RunFailure;
pub use error::{
    BuildError, CompileError, InternalError, Limit, NoSuite, ProductFault, Refusal, SourceAction,
    SourceFault, ToolsError, TrialError, Unavailable,
};
pub use input::main_source;
pub use linked::{Fallback, Linkage};
pub use messages::MAX_MESSAGE_BYTES;
pub use options::{Compilation, Options};
pub use reach::ClosedPath;
pub use sources::headers_in;
pub use toolbox::Toolbox;
pub use world::WorldError;

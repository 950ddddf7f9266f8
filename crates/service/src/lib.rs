//! The execution service of millibox: runs programs over HTTP.
//!
//! | module | content |
//! | --- | --- |
//! | `config` | the configuration: a TOML file and options |
//! | `core` | admission, execution and results, without HTTP |
//! | `service` | everything that the interfaces share |
//! | `interfaces` | all interfaces with their states: routes, housekeeping and the end |
//! | `tokens` | clients and their tokens |
//! | `metrics` | figures for Prometheus |
//! | `samples` | the load of the last minutes |
//! | `http` | listening, routing and the service's own interface, `/v1` |
//! | `dialects` | interfaces of other services |
//! | [`fleet`] | front ends without a sandbox, and executors behind a NATS server |
//! | `console` | pages for people |
//! | `fuzzing` | the parsers that `fuzz` calls |
//!
//! The other modules are private. A caller reads a [`Config`], binds its [`Sockets`], starts the
//! [`Interfaces`], and serves them with a [`Server`].
#![forbid(unsafe_code)]
#![allow(
    clippy::result_large_err,
    reason = "a problem is returned once for a request, and rendered at once"
)]

mod config;
mod console;
mod core;
mod dialects;
pub mod fleet;
#[doc(hidden)]
pub mod fuzzing;
mod hex;
mod http;
mod interfaces;
mod memory;
#[cfg(test)]
mod messages;
mod metrics;
mod samples;
mod service;
mod signals;
mod tokens;

pub use config::{Config, ConfigError, Listen};
pub use core::Stage;
pub use http::server::Server;
pub use http::sockets::{ServerError, Sockets};
pub use interfaces::{Interfaces, StartError};

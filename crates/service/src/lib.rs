//! The execution service of millibox: runs programs over HTTP.
//!
//! | module | content |
//! | --- | --- |
//! | `config` | the configuration: a TOML file and options |
//! | `core` | admission, execution and results, without HTTP |
//! | `service` | everything that the interfaces share |
//! | `tokens` | clients and their tokens |
//! | `metrics` | figures for Prometheus |
//! | `samples` | the load of the last minutes |
//! | `http` | listening, routing and the service's own interface, `/v1` |
//! | `dialects` | interfaces of other services |
//! | `console` | pages for people |
#![forbid(unsafe_code)]
#![allow(
    clippy::result_large_err,
    reason = "a problem is returned once for a request, and rendered at once"
)]

pub mod config;
pub mod console;
pub mod core;
pub mod dialects;
mod hex;
pub mod http;
mod interfaces;
mod memory;
#[cfg(test)]
mod messages;
pub mod metrics;
pub mod samples;
pub mod service;
pub mod tokens;

pub use interfaces::{Interfaces, StartError};

//! The interface of SandboxFusion, for its clients: verl, the PyPI package `sandbox-fusion` and
//! others.
//!
//! | file | content |
//! | --- | --- |
//! | `model` | the documents of requests and answers |
//! | `fields` | reads a request and collects its errors |
//! | `languages` | the names of languages and how each is run |
//! | `files` | files of a request and files of an answer |
//! | `result` | outcomes as SandboxFusion reports them |
//! | `run` | admission and execution, common to both endpoints |
//! | `run_code` | `POST /run_code` |
//! | `jupyter` | `POST /run_jupyter` |
//! | `datasets` | the endpoints of the online judge, which this service does not replace |
//! | `auth` | the client of a request |
//! | `errors` | errors in FastAPI's format |
//!
//! verl repeats a request only if the status is 504, and counts every other status as a wrong
//! answer. So each failure of the service is a 504, and nothing else is.

mod auth;
mod datasets;
mod errors;
mod fields;
mod files;
mod jupyter;
mod languages;
pub mod model;
mod result;
mod run;
mod run_code;

pub use fields::Invalid;
pub use files::place;

use crate::service::Service;
use axum::routing::{get, post};
use axum::{Json, Router};
use std::sync::Arc;

/// The name of this interface in tokens and metrics.
const INTERFACE: &str = "sandbox-fusion";

/// The state of this interface.
#[derive(Debug)]
pub struct SandboxFusion {
    service: Arc<Service>,
    pytest: languages::Pytest,
}

impl SandboxFusion {
    /// The state at the start of the service.
    pub fn new(service: Arc<Service>) -> SandboxFusion {
        SandboxFusion {
            service,
            pytest: languages::Pytest::default(),
        }
    }
}

/// The routes. `/v1/ping` is below `/v1`, like the service's own interface.
pub fn router(fusion: &Arc<SandboxFusion>) -> Router {
    Router::new()
        .route("/run_code", post(run_code::handle))
        .route("/run_jupyter", post(jupyter::handle))
        .route("/v1/ping", get(async || Json("pong")))
        .merge(datasets::router())
        .with_state(fusion.clone())
}

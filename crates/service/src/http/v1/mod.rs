//! The service's own interface.
//!
//! | file | content |
//! | --- | --- |
//! | `auth` | the client of a request |
//! | `body` | the body of a request |
//! | `info` | the service and its runtimes |
//! | `runs` | running one program on one or several inputs |
//! | `request` | turns the request of a run into a run of the core |
//! | `batches` | many runs with one request |
//! | `judgings` | a submission to a problem package |
//! | `jobs` | what runs and judgings have in common |
//! | `events` | the events of a run as a stream |
//! | `attach` | a WebSocket to a running program |
//! | `files` | stored files |
//! | `model` | the documents of requests and answers |

pub mod attach;
pub mod auth;
pub mod batches;
mod body;
pub mod events;
pub mod files;
pub mod info;
pub mod jobs;
pub mod judgings;
pub mod model;
pub mod request;
pub mod runs;

use crate::core::registry::RegistryBounds;
use crate::http::bodies;
use crate::http::encoding;
use crate::http::problem::{self, ProblemDetails};
use crate::service::Service;
use attach::Consoles;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use jobs::Jobs;
use std::sync::Arc;
use std::time::Duration;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The state of this interface.
#[derive(Debug)]
pub struct V1 {
    service: Arc<Service>,
    /// Runs and judgings by id.
    jobs: Jobs,
    /// The clients' ends of interactive programs.
    consoles: Consoles,
}

impl V1 {
    /// The state at the start of the service.
    pub fn new(service: Arc<Service>) -> V1 {
        let results = &service.config.results;
        let bounds = RegistryBounds {
            keep: Duration::from_secs(results.keep_s),
            max_bytes: results.max_bytes,
            max_log_bytes: results.max_event_bytes,
        };
        V1 {
            jobs: Jobs::new(bounds),
            consoles: Consoles::default(),
            service,
        }
    }

    /// Cancels all runs and judgings.
    pub fn cancel_all(&self) {
        self.jobs.cancel_all();
    }

    /// Removes the results that have been kept long enough.
    pub fn remove_expired(&self) {
        self.jobs.remove_expired();
    }
}

/// The routes, below `/v1`.
pub fn router(v1: &Arc<V1>) -> Router {
    let bound = from_fn_with_state((v1.service.clone(), None), bodies::bound);
    let (routes, _) = documented()
        .layer(bound)
        .merge(files_routes(v1.service.config.files.max_file_bytes))
        .split_for_parts();
    routes
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(v1.clone())
}

/// All routes with their description.
pub fn all_documented() -> OpenApiRouter<Arc<V1>> {
    // The bound is no part of the description.
    documented().merge(files_routes(0))
}

fn files_routes(max_bytes: u64) -> OpenApiRouter<Arc<V1>> {
    OpenApiRouter::new()
        .routes(routes!(files::put, files::get, files::remove))
        // Files have their own bound, and are not kept in memory.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(max_bytes, encoding::expand))
}

fn documented() -> OpenApiRouter<Arc<V1>> {
    OpenApiRouter::new()
        .routes(routes!(info::info))
        .routes(routes!(info::runtimes))
        .routes(routes!(runs::create))
        .routes(routes!(runs::state, runs::cancel))
        .routes(routes!(events::of_run))
        .routes(routes!(attach::attach))
        .routes(routes!(batches::create))
        .routes(routes!(judgings::create))
        .routes(routes!(judgings::state, judgings::cancel))
        .routes(routes!(events::of_judging))
}

/// The answer for an address that the service does not have.
pub async fn not_found(uri: Uri) -> ProblemDetails {
    problem::not_found(format!("{} is not an address of this service", uri.path()))
}

async fn method_not_allowed() -> ProblemDetails {
    problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "This address does not support the method",
        "see /docs for the methods",
    )
}

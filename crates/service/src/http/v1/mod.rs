//! The service's own interface.
//!
//! | file | content |
//! | --- | --- |
//! | `auth` | the client of a request |
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
pub mod events;
pub mod files;
pub mod info;
pub mod jobs;
pub mod judgings;
pub mod model;
pub mod request;
pub mod runs;

use crate::http::bodies;
use crate::http::problem::{self, ProblemDetails};
use crate::service::Service;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes, below `/v1`.
pub fn router(service: &Arc<Service>) -> Router<Arc<Service>> {
    let bound = from_fn_with_state((service.clone(), None), bodies::bound);
    let (routes, _) = documented()
        .layer(bound)
        .merge(files_routes())
        .split_for_parts();
    routes
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
}

/// All routes with their description.
pub fn all_documented() -> OpenApiRouter<Arc<Service>> {
    documented().merge(files_routes())
}

fn files_routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(files::put, files::get, files::remove))
        // Files have their own bound, and are not kept in memory.
        .layer(DefaultBodyLimit::disable())
}

fn documented() -> OpenApiRouter<Arc<Service>> {
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

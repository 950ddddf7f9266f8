//! The interface of Judge0 CE 1.13.1.
//!
//! | file | content |
//! | --- | --- |
//! | `auth`, `error` | clients, and answers to bad requests |
//! | `parameters`, `body` | the parameters of a request, in its URL and its body |
//! | `limits` | the limits of a submission |
//! | `model`, `field_errors` | the submission of a request: fields, defaults and checks |
//! | `archive`, `languages`, `encoding` | additional files, numbers of languages, forms of values |
//! | `submissions` | the calls that create, show and delete submissions |
//! | `submission`, `store` | a submission with its result, and where they are kept |
//! | `status` | the numbers and names of statuses |
//! | `run`, `project` | running submissions, and choosing their status; multi-file programs |
//! | `callbacks` | sending results |
//! | `info` | the calls that describe the service |
//!
//! Submissions are kept in memory for a limited time, and do not outlive the service.

pub mod archive;
mod auth;
mod body;
mod callbacks;
pub mod encoding;
mod error;
mod field_errors;
mod info;
mod languages;
mod limits;
mod model;
mod parameters;
mod project;
mod run;
mod status;
mod store;
mod submission;
mod submissions;

pub use body::is_object;
pub use callbacks::Receivers;
pub use languages::Languages;
pub use model::{Draft, LIMITS, Limits, LimitsError, Min, Rules};

use crate::http::origins;
use crate::service::Service;
use axum::Router;
use axum::http::HeaderMap;
use axum::http::header::ORIGIN;
use axum::routing::{get, post};
use callbacks::Turns;
use error::RequestError;
use std::sync::Arc;
use tower_http::cors::{AllowHeaders, AllowOrigin, Any, CorsLayer};

/// The version of Judge0 that this interface implements. Clients use it to look up languages.
pub const VERSION: &str = "1.13.1";
/// The name of this interface in tokens and metrics.
const INTERFACE: &str = "judge0";
/// The state of this interface.
#[derive(Debug)]
pub struct Judge0 {
    service: Arc<Service>,
    store: store::Store,
    limits: Limits,
    languages: Languages,
    receivers: Receivers,
    callbacks: Turns,
}

impl Judge0 {
    /// Creates the state at the start of the service.
    pub fn new(service: Arc<Service>, limits: Limits) -> Judge0 {
        let config = &service.config;
        let runtimes = service.programs.catalog.runtimes();
        let is_divided = service.tokens.are_several();
        Judge0 {
            store: store::Store::new(&config.judge0, is_divided),
            limits,
            languages: Languages::new(runtimes),
            receivers: Receivers::new(&config.judge0_callbacks),
            callbacks: Turns::new(is_divided),
            service,
        }
    }

    /// The maximum number of submissions in a batch.
    fn max_batch(&self) -> usize {
        self.service.config.judge0.max_submission_batch_size
    }

    /// Whether the page that sent a request with these headers may read the response.
    pub fn may_page_read(&self, headers: &HeaderMap) -> bool {
        let origin = headers.get(ORIGIN);
        origin.is_some_and(|origin| origins::may_read(&self.service, origin, headers))
    }
}

/// The routes, except `/version`, which go-judge has as well.
pub fn router(judge0: &Arc<Judge0>) -> Router {
    let routes = [
        (
            "/submissions",
            get(submissions::index).post(submissions::create),
        ),
        (
            "/submissions/batch",
            get(submissions::show_batch).post(submissions::create_batch),
        ),
        (
            "/submissions/{token}",
            get(submissions::show).delete(submissions::delete),
        ),
        ("/languages", get(info::languages)),
        ("/languages/all", get(info::all_languages)),
        ("/languages/{id}", get(info::language)),
        ("/statuses", get(info::statuses)),
        ("/about", get(info::about)),
        ("/isolate", get(info::isolate)),
        ("/license", get(info::license)),
        ("/system_info", get(info::system_info)),
        ("/config_info", get(info::config_info)),
        ("/workers", get(info::workers)),
        ("/statistics", get(info::statistics)),
        ("/authenticate", post(info::authenticate)),
        ("/authorize", post(info::authorize)),
    ];
    let routes = routes
        .into_iter()
        .fold(Router::new(), |router, (path, method)| {
            // Rails ignores a trailing slash, so clients may send one.
            router
                .route(path, method.clone())
                .route(&format!("{path}/"), method)
        });
    routes.with_state(judge0.clone())
}

/// The route `/version`, for an address without go-judge.
pub fn version_router(judge0: &Arc<Judge0>) -> Router {
    Router::new()
        .route("/version", get(info::version))
        .route("/version/", get(info::version))
        .with_state(judge0.clone())
}

/// Responds to a path that this interface does not have.
pub async fn not_found() -> RequestError {
    RequestError::NotFound
}

/// Allows pages to use the interface: with tokens those of any origin, and otherwise those that
/// `origins` accepts.
pub fn cors(judge0: &Judge0) -> CorsLayer {
    let service = judge0.service.clone();
    let layer = CorsLayer::new()
        .allow_methods(Any)
        // A `*` would not include `Authorization`.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(Any);
    if service.tokens.are_required() {
        return layer.allow_origin(Any);
    }
    layer.allow_origin(AllowOrigin::predicate(move |origin, head| {
        origins::may_read(&service, origin, &head.headers)
    }))
}

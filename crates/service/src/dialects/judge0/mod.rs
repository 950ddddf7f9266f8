//! The interface of Judge0 CE 1.13.1.
//!
//! | file | content |
//! | --- | --- |
//! | `auth`, `parameters`, `error` | clients, parameters of addresses, and answers to bad requests |
//! | `model`, `field_errors` | the submission of a request: fields, defaults and checks |
//! | `archive`, `languages`, `encoding` | additional files, numbers of languages, forms of values |
//! | `submissions` | the calls that create, show and delete submissions |
//! | `submission`, `status`, `store` | a submission with its result, and where they are kept |
//! | `run`, `project` | running submissions, and multi-file programs |
//! | `callbacks` | sending results |
//! | `info` | the calls that describe the service |
//!
//! Submissions are kept in memory for a limited time, and do not outlive the service.

pub mod archive;
mod auth;
mod callbacks;
pub mod encoding;
mod error;
mod field_errors;
mod info;
mod languages;
mod model;
mod parameters;
mod project;
mod run;
mod status;
mod store;
mod submission;
mod submissions;

pub use callbacks::Receivers;
pub use languages::Languages;
pub use model::{Draft, LIMITS, Min, Rules};

use crate::service::Service;
use axum::Router;
use axum::routing::{get, post};
use callbacks::Turns;
use std::sync::Arc;
use tower_http::cors::{Any, CorsLayer};

/// The version of Judge0 that this interface implements. Clients use it to look up languages.
pub const VERSION: &str = "1.13.1";
/// The name of this interface in tokens and metrics.
const INTERFACE: &str = "judge0";
/// The state of this interface.
#[derive(Debug)]
pub struct Judge0 {
    service: Arc<Service>,
    store: store::Store,
    languages: Languages,
    receivers: Receivers,
    callbacks: Turns,
}

impl Judge0 {
    /// The state at the start of the service.
    pub fn new(service: Arc<Service>) -> Judge0 {
        let config = &service.config;
        let runtimes = service.programs.catalog.runtimes();
        let is_divided = service.tokens.are_several();
        Judge0 {
            store: store::Store::new(&config.judge0, is_divided),
            languages: Languages::new(runtimes),
            receivers: Receivers::new(&config.judge0_callbacks),
            callbacks: Turns::new(is_divided),
            service,
        }
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
    routes.route_layer(cors()).with_state(judge0.clone())
}

/// The route `/version`, for an address without go-judge.
pub fn version_router(judge0: &Arc<Judge0>) -> Router {
    Router::new()
        .route("/version", get(info::version))
        .route_layer(cors())
        .with_state(judge0.clone())
}

/// Allows pages of any origin to use the service.
fn cors() -> CorsLayer {
    CorsLayer::new()
        .allow_origin(Any)
        .allow_methods(Any)
        .allow_headers(Any)
}

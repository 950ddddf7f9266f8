//! The interface of Piston, API version 3.1.1.
//!
//! | file | content |
//! | --- | --- |
//! | `model` | requests and answers |
//! | `constraints` | the limits of a request |
//! | `runtimes` | languages and packages under the names of Piston |
//! | `version` | versions and ranges of versions |
//! | `packages` | package directories as runtimes |
//! | `execute` | the stages of a job, and `/execute` |
//! | `observer` | observes the stages of a job |
//! | `collect` | the output of the stages as one answer |
//! | `stage` | results of the core as results of a stage |
//! | `connect` | the WebSocket `/connect` |
//! | `messages` | the messages of the WebSocket |
//! | `text` | output as text |
//! | `error` | errors and their answers |
//!
//! Every route exists below `/api/v2` and, as on Piston's public instance, below `/api/v2/piston`,
//! with and without a slash at its end.

mod collect;
mod connect;
pub mod constraints;
pub mod error;
mod execute;
mod messages;
pub mod model;
mod observer;
pub mod packages;
pub mod runtimes;
mod stage;
mod text;
pub mod version;

use crate::service::Service;
use crate::tokens::Client;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Json, Router};
use error::Failure;
use packages::Package;
use runtimes::{PackageEntry, RuntimeEntry, Runtimes};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The name of this interface in tokens and metrics.
const INTERFACE: &str = "piston";
/// The version of Piston that this interface implements.
const PISTON_VERSION: &str = "3.1.1";

/// The state of this interface.
#[derive(Debug)]
pub struct Piston {
    service: Arc<Service>,
    runtimes: Runtimes,
}

impl Piston {
    /// The state at the start of the service.
    pub fn new(service: Arc<Service>, packages: &[Arc<Package>]) -> Piston {
        let runtimes = Runtimes::new(service.programs.catalog.runtimes(), packages);
        Piston { service, runtimes }
    }
}

/// The routes below `/api/v2`.
pub fn router(piston: &Arc<Piston>) -> Router {
    let api = || {
        let routes = [
            ("/runtimes", get(list_runtimes)),
            ("/execute", post(execute::execute)),
            ("/packages", packages_route()),
            ("/connect", get(connect::connect)),
        ];
        routes
            .into_iter()
            .fold(Router::new(), |router, (path, route)| {
                router
                    .route(path, route.clone())
                    .route(&format!("{path}/"), route)
            })
            .fallback(not_found)
            .method_not_allowed_fallback(not_found)
    };
    let both = api()
        .nest("/piston", api())
        .layer(axum::middleware::from_fn(require_json))
        .with_state(piston.clone());
    Router::new().nest("/api/v2", both)
}

/// All routes of an address that serves only this interface.
pub fn alone(piston: &Arc<Piston>) -> Router {
    router(piston)
        .route("/", get(greeting))
        .fallback(not_found)
        .method_not_allowed_fallback(not_found)
}

async fn greeting() -> Json<Value> {
    Json(json!({ "message": format!("Piston v{PISTON_VERSION}") }))
}

async fn not_found() -> Response {
    let body = Json(json!({ "message": "Not Found" }));
    (StatusCode::NOT_FOUND, body).into_response()
}

async fn list_runtimes(
    State(piston): State<Arc<Piston>>,
    _: Authorized,
) -> Json<Vec<RuntimeEntry>> {
    Json(piston.runtimes.entries())
}

fn packages_route() -> MethodRouter<Arc<Piston>> {
    get(list_packages)
        .post(refuse_packages)
        .delete(refuse_packages)
}

async fn list_packages(
    State(piston): State<Arc<Piston>>,
    _: Authorized,
) -> Json<Vec<PackageEntry>> {
    Json(piston.runtimes.packages())
}

async fn refuse_packages(_: Authorized) -> Failure {
    Failure::Packages
}

/// Rejects requests that a page of another site could send without a preflight request (CSRF).
async fn require_json(request: Request, next: Next) -> Response {
    let is_reading = matches!(
        *request.method(),
        Method::GET | Method::HEAD | Method::OPTIONS
    );
    let is_json = request
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if is_reading || is_json {
        return next.run(request).await;
    }
    let body = Json(json!({ "message": "requests must be of type application/json" }));
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, body).into_response()
}

/// The client, from the header `Authorization`, which holds the token alone or after `Bearer`.
struct Authorized(Client);

impl FromRequestParts<Arc<Piston>> for Authorized {
    type Rejection = Failure;

    async fn from_request_parts(
        parts: &mut Parts,
        piston: &Arc<Piston>,
    ) -> Result<Authorized, Failure> {
        let header = parts.headers.get(AUTHORIZATION);
        let header = header.and_then(|value| value.to_str().ok()).map(str::trim);
        let token = header.map(|value| match value.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
            _ => value,
        });
        let client = piston.service.tokens.client(token);
        let client = client.map_err(|_| Failure::Unauthorized)?;
        if client.may_use(INTERFACE) {
            Ok(Authorized(client))
        } else {
            Err(Failure::Forbidden)
        }
    }
}

/// A JSON body. An array counts as an object without fields, and so does an empty body.
struct JsonBody {
    body: Map<String, Value>,
    size_bytes: usize,
}

impl FromRequest<Arc<Piston>> for JsonBody {
    type Rejection = Failure;

    async fn from_request(request: Request, piston: &Arc<Piston>) -> Result<JsonBody, Failure> {
        let bytes = Bytes::from_request(request, piston)
            .await
            .map_err(Failure::Body)?;
        let size_bytes = bytes.len();
        if size_bytes == 0 {
            return Ok(JsonBody {
                body: Map::new(),
                size_bytes,
            });
        }
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(body)) => Ok(JsonBody { body, size_bytes }),
            Ok(Value::Array(_)) => Ok(JsonBody {
                body: Map::new(),
                size_bytes,
            }),
            Ok(_) => Err(Failure::NoObject),
            Err(error) => Err(Failure::Malformed(error)),
        }
    }
}

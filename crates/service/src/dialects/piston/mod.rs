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
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Extension, Json, Router};
use error::Failure;
use runtimes::{PackageEntry, RuntimeEntry, Runtimes};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The name of this interface in tokens and metrics.
const INTERFACE: &str = "piston";
/// The version of Piston that this interface implements.
const PISTON_VERSION: &str = "3.1.1";

/// The routes below `/api/v2`.
pub fn router(service: &Arc<Service>) -> Router<Arc<Service>> {
    let catalog = &service.runner.catalog;
    let runtimes = Runtimes::new(catalog.runtimes(), &service.piston_packages);
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
        .layer(Extension(Arc::new(runtimes)));
    Router::new().nest("/api/v2", both)
}

/// All routes of an address that serves only this interface.
pub fn alone(service: &Arc<Service>) -> Router<Arc<Service>> {
    router(service)
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
    Extension(runtimes): Extension<Arc<Runtimes>>,
    _: Authorized,
) -> Json<Vec<RuntimeEntry>> {
    Json(runtimes.entries())
}

fn packages_route() -> MethodRouter<Arc<Service>> {
    get(list_packages)
        .post(refuse_packages)
        .delete(refuse_packages)
}

async fn list_packages(
    Extension(runtimes): Extension<Arc<Runtimes>>,
    _: Authorized,
) -> Json<Vec<PackageEntry>> {
    Json(runtimes.packages())
}

async fn refuse_packages(_: Authorized) -> Failure {
    Failure::Packages
}

/// Refuses requests that a page of another site could send without a preflight request (CSRF).
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

impl FromRequestParts<Arc<Service>> for Authorized {
    type Rejection = Failure;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &Arc<Service>,
    ) -> Result<Authorized, Failure> {
        let header = parts.headers.get(AUTHORIZATION);
        let header = header.and_then(|value| value.to_str().ok()).map(str::trim);
        let token = header.map(|value| match value.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
            _ => value,
        });
        let client = service.tokens.client(token);
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

impl FromRequest<Arc<Service>> for JsonBody {
    type Rejection = Failure;

    async fn from_request(request: Request, service: &Arc<Service>) -> Result<JsonBody, Failure> {
        let bytes = Bytes::from_request(request, service)
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

//! The interface for programs, `/api/v1`.
//!
//! Its handlers apply the same rules as the pages: they find objects with the functions of the
//! pages, for the session that a token represents. Errors are problem details (RFC 9457).
//!
//! | file | content |
//! | --- | --- |
//! | `caller` | the user and the scope of a token |
//! | `model` | the objects in JSON |
//! | `objects` | contests, problems, languages and users |
//! | `submissions` | submissions |
//! | `communication` | clarifications, files and rankings of contests |
//! | `changes` | the changes in a contest |
//! | `problem` | errors |
//! | `document` | the description in OpenAPI, and the page that lists the operations |

pub mod caller;
mod changes;
mod communication;
mod document;
mod model;
mod objects;
pub mod problem;
mod submissions;

use crate::app::App;
use axum::Router;
use axum::middleware::map_response;
use axum::routing::get;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The operations with their descriptions.
fn documented() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(objects::me))
        .routes(routes!(objects::languages))
        .routes(routes!(objects::contests))
        .routes(routes!(objects::contest))
        .routes(routes!(objects::problems))
        .routes(routes!(objects::problem))
        .routes(routes!(objects::users, objects::add_user))
        .routes(routes!(submissions::list, submissions::submit))
        .routes(routes!(submissions::of_contest))
        .routes(routes!(submissions::show))
        .routes(routes!(submissions::source))
        .routes(routes!(communication::clarifications, communication::ask))
        .routes(routes!(communication::announce))
        .routes(routes!(communication::clarification))
        .routes(routes!(communication::answer))
        .routes(routes!(communication::files))
        .routes(routes!(communication::content))
        .routes(routes!(communication::ranking))
        .routes(routes!(changes::changes))
}

/// The description of the interface, for tests.
#[cfg(test)]
pub fn description() -> String {
    document::json()
}

/// The routes.
pub fn routes() -> Router<Arc<App>> {
    let (operations, _) = documented().split_for_parts();
    Router::new()
        .nest(
            "/api/v1",
            operations
                .fallback(document::unknown)
                .layer(map_response(problem::explain)),
        )
        .route("/api/openapi.json", get(document::openapi))
        .route("/api", get(document::page))
}

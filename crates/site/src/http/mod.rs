//! The pages. A handler reads a request, applies the rules, and renders the response.
//!
//! | folder or file | content |
//! | --- | --- |
//! | `web` | what all pages share: the viewer, the frame, forms, errors and uploads |
//! | `accounts` | users, sign-in and credentials |
//! | `problems` | problems outside contests, their versions, and jobs |
//! | `classes` | the pupils of a teacher, their passwords, problems and grades |
//! | `contests` | contests: rounds, members, participants, rankings and communication |
//! | `judging` | submissions, faults, and judging again |
//! | `api` | the interface for programs |
//! | `server`, `connections`, `body` | connections, and how slow clients may be |
//! | `assets` | style sheet, scripts and icon |
//!
//! The `mod.rs` of each folder lists its routes. Every page works without JavaScript. The script
//! only reloads a page when its content has changed.

mod accounts;
mod api;
mod assets;
mod body;
mod classes;
pub mod connections;
mod contests;
mod judging;
#[cfg(test)]
mod pairs;
mod problems;
pub mod server;
mod web;

pub use accounts::reset::LINK_LASTS;
pub use problems::statements::{Sources, Statements};

use crate::app::App;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use millibox_web::assets::secure;
use std::sync::Arc;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::csrf::CsrfLayer;
use web::again::{self, Again};
use web::{audit, context, error, language, storable};

/// The maximum size of all packages in a form together, in bytes.
pub const MAX_PACKAGE: usize = 128 << 20;
/// The maximum size of a statement, in bytes.
const MAX_STATEMENT: usize = 11 << 20;
/// The maximum size of other requests, in bytes.
const MAX_BODY: usize = 1 << 20;

/// The pages of a site.
pub fn router(app: Arc<App>) -> Router {
    let uploads = Router::new()
        .merge(problems::uploads())
        .merge(contests::uploads())
        .layer(DefaultBodyLimit::max(MAX_PACKAGE))
        .layer(from_fn_with_state(app.clone(), body::keep))
        .layer(from_fn_with_state(body::UPLOAD_SPEED, body::pace));
    let statements = problems::statements()
        .layer(DefaultBodyLimit::max(MAX_STATEMENT))
        .layer(from_fn_with_state(app.clone(), body::charge));
    let pages = Router::new()
        .merge(web::routes())
        .merge(accounts::routes())
        .merge(problems::routes())
        .merge(classes::routes())
        .merge(contests::routes())
        .merge(judging::routes())
        .merge(api::routes())
        .merge(administration(&app))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn_with_state(app.clone(), body::charge));
    let all = Router::new()
        .merge(uploads)
        .merge(statements)
        .merge(pages)
        .layer(from_fn_with_state(app.clone(), audit::record))
        .route("/assets/{name}", get(assets::serve))
        .fallback(error::not_found)
        .with_state(app.clone())
        .layer(CsrfLayer::new())
        .layer(CatchPanicLayer::custom(error::panicked))
        .layer(from_fn(storable::refuse_zero_bytes))
        .layer(from_fn_with_state(body::SPEED, body::pace));
    let again = Arc::new(Again {
        app: app.clone(),
        pages: all.clone(),
    });
    all.layer(from_fn_with_state(again, again::show))
        .layer(from_fn_with_state(app, language::choose))
        .layer(from_fn(secure))
}

/// Pages for administrators. To others they do not exist, even if a request is malformed.
fn administration(app: &Arc<App>) -> Router<Arc<App>> {
    Router::new()
        .merge(web::administration())
        .merge(accounts::administration())
        .merge(judging::administration())
        .route_layer(from_fn_with_state(app.clone(), context::only_admins))
}

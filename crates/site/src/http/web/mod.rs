//! What all pages share: the viewer, the frame, forms, errors and uploads.
//!
//! | file | content |
//! | --- | --- |
//! | `session` | the user of a request |
//! | `context` | the rights that the signatures of handlers state |
//! | `language` | the language and the time zone of a request |
//! | `zones` | times and time zones in forms |
//! | `client` | the address and the name of a browser |
//! | `audit` | the log of changes, and requests whose clients leave |
//! | `frame`, `layout` | the frame of all pages; that of pages for a user |
//! | `parts`, `vocabulary` | common parts and words |
//! | `chart` | charts |
//! | `slips` | secrets of users on paper and as CSV |
//! | `live` | notices for pages that follow changes |
//! | `upload`, `quota` | uploads and downloads of large files; the disk space of a user |
//! | `storable` | texts that databases do not store |
//! | `error`, `refusal`, `mistake` | why requests were not carried out, and pages about it |
//! | `again`, `refill` | show a rejected form again, with what was typed and the mistake |

pub mod again;
pub mod audit;
pub mod chart;
pub mod client;
pub mod context;
pub mod error;
pub mod frame;
pub mod language;
pub mod layout;
pub mod live;
pub mod mistake;
pub mod parts;
pub mod quota;
pub mod refill;
pub mod refusal;
pub mod repeated;
pub mod session;
pub mod slips;
pub mod storable;
pub mod upload;
pub mod vocabulary;
pub mod zones;

use crate::app::App;
use axum::Router;
use axum::routing::{get, post};
use std::sync::Arc;

/// The pages.
pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/language", post(language::change))
}

/// The pages for administrators.
pub fn administration() -> Router<Arc<App>> {
    Router::new().route("/audit", get(audit::show))
}

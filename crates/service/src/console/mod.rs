//! The pages for people, which run programs and show the state of the service.
//!
//! | file | content |
//! | --- | --- |
//! | `run` | `/`: the form that runs a program, and its result |
//! | `status` | `/status`: load, outcomes and languages, with charts |
//! | `docs` | `/docs`: the description of the interface `/v1` |
//! | `form` | the fields of the form, and the request that they describe |
//! | `result` | the result of a run as markup |
//! | `words` | sentences for outcomes |
//! | `text` | times, sizes and hostile output as text |
//! | `charts` | charts as SVG |
//! | `layout` | the frame of all pages |
//! | `assets` | the style sheet, the script and the icon, under names with their digests |
//!
//! All pages work without JavaScript. The script runs programs in place through `/v1/runs` and
//! refreshes the charts. It fills the templates that the server renders, so each sentence exists
//! only once.
//!
//! Output of programs is hostile. It enters pages only as text: `maud` escapes it here, the script
//! assigns `textContent`, and `text::visible` makes control characters visible. The
//! Content-Security-Policy forbids inline scripts and styles and other origins.

mod assets;
mod charts;
mod docs;
mod form;
mod layout;
mod result;
mod run;
mod status;
mod text;
mod words;

use crate::samples::{Sample, Samples};
use crate::service::Service;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use std::sync::Arc;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The state of the pages.
#[derive(Debug)]
pub struct Console {
    service: Arc<Service>,
    samples: Samples,
}

impl Console {
    /// The state at the start of the service.
    pub fn new(service: Arc<Service>) -> Console {
        Console {
            service,
            samples: Samples::default(),
        }
    }

    /// Adds a sample of the current load.
    pub fn take_sample(&self) {
        let load = self.service.programs.queue.load();
        let totals = self.service.metrics.totals();
        self.samples.add(Sample::new(load, &totals));
    }
}

/// The pages.
pub fn router(console: &Arc<Console>) -> Router {
    // Anyone may send these forms, because they contain the token, and their memory is not charged
    // to anyone. So they have small bounds.
    let run_form = get(run::show).post(run::submit);
    let run_form = run_form.layer(DefaultBodyLimit::max(run::MAX_FORM_BYTES));
    let token_form = get(status::show).post(status::submit);
    let token_form = token_form.layer(DefaultBodyLimit::max(status::MAX_FORM_BYTES));
    Router::new()
        .route("/", run_form)
        .route("/status", token_form)
        .route("/status/live", get(status::live))
        .route("/docs", get(docs::show))
        .route("/docs/problems", get(docs::problems))
        .route("/openapi.json", get(docs::json))
        .route("/assets/{name}", get(assets::serve))
        .layer(from_fn(secure))
        .with_state(console.clone())
}

/// Adds the headers that confine the pages.
async fn secure(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        // A link to a program contains the program, so it must not reach other sites. With
        // `no-referrer`, browsers would send `Origin: null` with the console's own form.
        (REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

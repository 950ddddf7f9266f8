//! `/version`, which go-judge answers with JSON and Judge0 with text.
//!
//! The router of go-judge has the route. If Judge0 is served as well, a request that prefers text
//! is answered before it reaches this route. If Judge0 is served without go-judge, the route is
//! Judge0's.

use super::judge0::{self, Judge0};
use crate::config::Dialect;
use axum::Router;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, ACCESS_CONTROL_ALLOW_ORIGIN};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// Adds the routes that an address with these dialects needs.
pub fn add(routes: Router, dialects: &[Dialect], judge0: &Arc<Judge0>) -> Router {
    match (
        dialects.contains(&Dialect::Judge0),
        dialects.contains(&Dialect::GoJudge),
    ) {
        (false, _) => routes,
        (true, false) => routes.merge(judge0::version_router(judge0)),
        (true, true) => routes.layer(from_fn(answer_text)),
    }
}

async fn answer_text(request: Request, next: Next) -> Response {
    if request.uri().path() == "/version" && prefers_text(request.headers()) {
        let headers = [(ACCESS_CONTROL_ALLOW_ORIGIN, "*")];
        return (headers, judge0::VERSION).into_response();
    }
    next.run(request).await
}

/// Whether a client wants text rather than JSON. Without a preference, the answer is JSON.
fn prefers_text(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let quality = |media_types: [&str; 2]| {
        let ranges = accepted.unwrap_or_default().split(',');
        let qualities = ranges.filter_map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let media_type = parts.next()?;
            let is_meant = media_types
                .iter()
                .any(|known| media_type.eq_ignore_ascii_case(known));
            let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok());
            is_meant.then_some(quality.unwrap_or(1.0))
        });
        qualities.fold(0.0, f64::max)
    };
    quality(["text/plain", "text/*"]) > quality(["application/json", "application/*"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_needs_a_preference() {
        let prefers = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            prefers_text(&headers)
        };
        assert!(prefers("text/plain"));
        assert!(prefers("text/*, application/json;q=0.5"));
        assert!(prefers("Text/Plain; q=0.3, */*; q=0.1"));
        assert!(!prefers("*/*"));
        assert!(!prefers("application/json, text/plain, */*"));
        assert!(!prefers("text/plain;q=0.5, application/json"));
        assert!(!prefers_text(&HeaderMap::new()));
    }
}

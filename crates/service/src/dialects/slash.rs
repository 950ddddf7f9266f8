//! Redirects of paths with a slash at the end, where the router of a peer does so.
//!
//! The frameworks of go-judge (gin) and SandboxFusion (Starlette) redirect such a request to the
//! path without the slash. Judge0 and Piston serve both paths.

use axum::extract::MatchedPath;
use axum::http::header::LOCATION;
use axum::http::{Method, StatusCode, Uri};
use axum::routing::{MethodRouter, any};

/// Redirects every request to the same path without the slash at its end. Reading requests receive
/// `status`; all others 307, with which clients repeat the method and the body.
pub fn redirect<S: Clone + Send + Sync + 'static>(status: StatusCode) -> MethodRouter<S> {
    any(
        async move |method: Method, matched: MatchedPath, uri: Uri| {
            let is_reading = matches!(method, Method::GET | Method::HEAD);
            let status = match is_reading {
                true => status,
                false => StatusCode::TEMPORARY_REDIRECT,
            };
            let path = uri.path().trim_end_matches('/');
            let query = uri.query().map(|query| format!("?{query}"));
            let prefix = prefix(matched.as_str(), path);
            let target = format!("{prefix}{path}{}", query.unwrap_or_default());
            (status, [(LOCATION, target)])
        },
    )
}

/// The prefix of a dialect: what precedes the path of a request in the path of its route.
fn prefix(route: &str, path: &str) -> String {
    let segments: Vec<&str> = route.trim_end_matches('/').split('/').collect();
    let count = segments.len().saturating_sub(path.split('/').count());
    let prefix = segments.iter().skip(1).take(count);
    prefix.flat_map(|segment| ["/", segment]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::body::Body;
    use axum::extract::Request;
    use axum::response::Response;
    use tower::ServiceExt as _;

    async fn redirected(method: Method, uri: &str) -> Response {
        let slash = || redirect(StatusCode::MOVED_PERMANENTLY);
        let inner = Router::new()
            .route("/run/", slash())
            .route("/file/{id}/", slash());
        let routes = Router::new().nest("/prefix", inner.clone()).merge(inner);
        let request = Request::builder().method(method).uri(uri);
        routes
            .oneshot(request.body(Body::empty()).unwrap())
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn slash_is_removed_below_a_prefix_and_before_a_query() {
        let response = redirected(Method::GET, "/run/?a=1").await;
        assert_eq!(response.status(), StatusCode::MOVED_PERMANENTLY);
        assert_eq!(response.headers()[LOCATION], "/run?a=1");
        let response = redirected(Method::POST, "/prefix/run/").await;
        assert_eq!(response.status(), StatusCode::TEMPORARY_REDIRECT);
        assert_eq!(response.headers()[LOCATION], "/prefix/run");
        let response = redirected(Method::DELETE, "/prefix/file/A/").await;
        assert_eq!(response.headers()[LOCATION], "/prefix/file/A");
    }
}

//! Protects a service without tokens from pages of other sites.
//!
//! A service without tokens trusts all programs on its machine, but not the pages in a browser
//! there. Otherwise, any page could make the browser send programs to the service (cross-site
//! request forgery, or a WebSocket, which browsers allow to any origin). Browsers name the page's
//! origin in the header `Origin` of every such request. The origin must be that of the service's
//! own pages, under a loopback address, or one that the configuration trusts.
//!
//! The name in `Host` proves nothing, because a foreign domain can point to this machine (DNS
//! rebinding). So only addresses and `localhost` count as the service's own, and requests to other
//! names are rejected, also those that only read: they would be of the same origin as the foreign
//! page, which could read the answers.
//!
//! `trusted_origins = ["*"]` accepts pages of any origin, but foreign names are still rejected.
//!
//! Before a page sends a request that is not a form's, the browser asks with `OPTIONS` whether the
//! page may (a CORS preflight). The answer follows the same rule, so a page never receives a
//! permission for a request that is then rejected.
//!
//! A service with tokens needs no such protection: its clients send the token in a header, and a
//! foreign page does not know the token.

use super::problem;
use crate::config::Origin;
use crate::service::Service;
use crate::tokens::Tokens;
use axum::extract::{Request, State};
use axum::http::header::{ACCESS_CONTROL_REQUEST_METHOD, HOST, ORIGIN, UPGRADE};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;

/// Rejects a request that was sent to a foreign name, and a request that may run something if a
/// page of another site sent it.
pub async fn guard(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    match rejection(&request, &service.tokens, &service.config.trusted_origins) {
        Some(rejection) => rejection,
        None => next.run(request).await,
    }
}

/// The response to a request that is rejected.
pub fn rejection(request: &Request, tokens: &Tokens, trusted: &[Origin]) -> Option<Response> {
    let headers = request.headers();
    if tokens.are_required() {
        return None;
    }
    let host = request.uri().authority().map(Authority::as_str);
    let host = host.or_else(|| Some(headers.get(HOST)?.to_str().unwrap_or_default()));
    let trusted_names = trusted.iter().map(|origin| origin.as_str());
    if !host.is_none_or(|host| is_own_name(host, trusted_names)) {
        let rejection = problem::new(
            StatusCode::FORBIDDEN,
            "cross_site",
            "The request was sent to a name that is not known to be that of this service",
            "use an address or `localhost`, add `http://NAME` to `trusted_origins` in the \
             configuration, or give the service tokens",
        );
        return Some(rejection.into_response());
    }
    if is_harmless(request.method(), headers)
        || is_own_page(headers, |origin| is_trusted(trusted, origin))
    {
        return None;
    }
    let rejection = problem::new(
        StatusCode::FORBIDDEN,
        "cross_site",
        "A page of another site sent this request",
        "add the origin of the page to `trusted_origins` in the configuration, or give the \
         service tokens",
    );
    Some(rejection.into_response())
}

/// Whether a page of this origin may read the responses to its requests.
pub fn may_read(service: &Service, origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let trusted = &service.config.trusted_origins;
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let host = headers.get(HOST).map(text);
    service.tokens.are_required()
        || is_trusted(trusted, &text(origin))
        || host.is_some_and(|host| is_own(&text(origin), &host))
}

fn is_trusted(trusted: &[Origin], origin: &str) -> bool {
    trusted
        .iter()
        .any(|known| known.is_any() || known.as_str() == origin)
}

/// Whether the header `Host` names this machine. A browser sends the name in the page's URL,
/// which may be a foreign domain that points to this machine.
fn is_own_name<'a>(host: &str, mut trusted: impl Iterator<Item = &'a str>) -> bool {
    let name = |authority: &str| {
        let authority = authority.parse::<Authority>().ok()?;
        Some(authority.host().to_ascii_lowercase())
    };
    let is_trusted = |origin: &str| {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        authority.is_some_and(|authority| name(authority) == name(host))
    };
    is_address(host) || trusted.any(is_trusted)
}

/// Whether the request neither changes anything, nor opens a WebSocket, nor asks for permission to.
fn is_harmless(method: &Method, headers: &HeaderMap) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
        && !headers.contains_key(UPGRADE)
        && !headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Whether no page sent the request, or the page is the service's own, or `is_trusted` accepts its
/// origin.
fn is_own_page(headers: &HeaderMap, is_trusted: impl Fn(&str) -> bool) -> bool {
    let text = |name| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or_default())
    };
    match text(ORIGIN) {
        Some(origin) => is_trusted(origin) || text(HOST).is_some_and(|host| is_own(origin, host)),
        // Old browsers send neither header. `none` means that a person entered the address.
        None => headers
            .get("sec-fetch-site")
            .is_none_or(|site| site == "same-origin" || site == "none"),
    }
}

/// Whether the origin is that of the address to which the request was sent. A domain does not
/// count.
fn is_own(origin: &str, host: &str) -> bool {
    let authority = origin.split_once("://").map(|(_, authority)| authority);
    authority == Some(host) && is_address(host)
}

fn is_address(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else {
        return false;
    };
    let name = authority.host().trim_matches(['[', ']']);
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderName;

    fn is_accepted(fields: &[(&'static str, &'static str)]) -> bool {
        let headers: HeaderMap = fields
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect();
        is_own_page(&headers, |origin| origin == "https://box.example.org")
    }

    #[test]
    fn requests_of_programs_and_own_pages_are_accepted() {
        let host = ("host", "127.0.0.1:8080");
        assert!(is_accepted(&[host]));
        assert!(is_accepted(&[host, ("sec-fetch-site", "none")]));
        assert!(is_accepted(&[host, ("origin", "http://127.0.0.1:8080")]));
        let named = ("host", "localhost:8080");
        assert!(is_accepted(&[named, ("origin", "http://localhost:8080")]));
        let version_6 = ("host", "[::1]:8080");
        assert!(is_accepted(&[version_6, ("origin", "http://[::1]:8080")]));
        assert!(is_accepted(&[host, ("origin", "https://box.example.org")]));
    }

    #[test]
    fn requests_of_foreign_pages_are_refused() {
        let host = ("host", "127.0.0.1:8080");
        assert!(!is_accepted(&[host, ("origin", "https://evil.example")]));
        assert!(!is_accepted(&[host, ("origin", "null")]));
        assert!(!is_accepted(&[host, ("origin", "http://127.0.0.1:3000")]));
        assert!(!is_accepted(&[host, ("sec-fetch-site", "cross-site")]));
        // The domain of the page points to this machine.
        let rebound = ("host", "evil.example:8080");
        assert!(!is_accepted(&[
            rebound,
            ("origin", "http://evil.example:8080")
        ]));
    }

    #[test]
    fn star_trusts_every_origin() {
        let parse = |text: &str| text.parse::<Origin>().unwrap();
        let listed = [parse("https://box.example.org")];
        assert!(is_trusted(&listed, "https://box.example.org"));
        assert!(!is_trusted(&listed, "https://evil.example"));
        assert!(is_trusted(&[parse("*")], "https://evil.example"));
        // A star is no name of the service.
        assert!(!is_own_name("evil.example", ["*"].into_iter()));
    }

    #[test]
    fn only_names_of_this_machine_and_trusted_ones_are_accepted() {
        let is_accepted = |host: &str| is_own_name(host, ["https://box.example.org"].into_iter());
        for host in [
            "127.0.0.1:8080",
            "127.0.0.1",
            "[::1]:8080",
            "localhost",
            "LOCALHOST:1",
            "192.0.2.7:80",
            "box.example.org",
            "Box.example.org:8080",
        ] {
            assert!(is_accepted(host), "{host}");
        }
        for host in [
            "",
            "evil.example:8080",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "example.org",
        ] {
            assert!(!is_accepted(host), "{host}");
        }
    }
}

//! The description of the interface in OpenAPI 3.1, and as a page.

use super::problem::ApiError;
use crate::http::web::error::PageError;
use crate::http::web::layout;
use crate::http::web::session::Session;
use crate::text::t;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use maud::html;
use millibox_web::openapi;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

const DESCRIPTION: &str = "\
Contests, problems and submissions of a site. Users create tokens on the page /account/tokens, and \
programs send them as `Authorization: Bearer TOKEN`. A program sees what the user of its token \
sees. Errors are problem details (RFC 9457) with the field `code`. A user may send 1,200 requests \
per minute; further requests are answered with 429 and the header `Retry-After`.";

/// The description, made from the types of the handlers.
fn document() -> OpenApi {
    let empty = openapi::empty("millibox site", env!("CARGO_PKG_VERSION"), DESCRIPTION);
    let (_, mut document) = OpenApiRouter::with_openapi(empty)
        .nest("/api/v1", super::documented())
        .split_for_parts();
    openapi::complete(&mut document);
    document
}

pub fn json() -> String {
    document().to_pretty_json().unwrap_or_default() + "\n"
}

/// `GET /api/openapi.json`.
pub async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], json()).into_response()
}

/// A path without an operation.
pub async fn unknown() -> ApiError {
    PageError::NotFound.into()
}

/// `GET /api`.
pub async fn page(session: Session) -> Response {
    let document = serde_json::to_value(document()).unwrap_or_default();
    let paths = document["paths"].as_object().cloned().unwrap_or_default();
    let main = html! {
        h1 { (t::ApiTitle) }
        @let token = html! { a href="/account/tokens" { (t::ApiToken) } };
        @let header = html! { code { "Authorization: Bearer TOKEN" } };
        @let document = html! { a href="/api/openapi.json" { "OpenAPI" } };
        p { (t::ApiLead { token, header, document }) }
        div.scroll { table {
            thead { tr { th { (t::ApiOperation) } th { (t::ApiPurpose) } } }
            tbody {
                @for (path, operations) in &paths {
                    @for (method, operation) in operations.as_object().into_iter().flatten() {
                        tr {
                            td { code { (method.to_uppercase()) " " (path) } }
                            td lang="en" translate="no" {
                                (operation["summary"].as_str().unwrap_or_default())
                            }
                        }
                    }
                }
            }
        } }
        p { (t::ApiCommand) }
        pre tabindex="0" {
            "\nmillibox submit a.cpp --site https://HOST --round-problem 1 --token-file token"
        }
    };
    layout::page(&session, t::ApiTitle, main).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `MILLIBOX_GOLDEN=write` rewrites the file.
    #[test]
    fn description_equals_the_reference() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/reference/site-openapi.json"
        );
        let found = json();
        if std::env::var_os("MILLIBOX_GOLDEN").is_some_and(|value| value == "write") {
            std::fs::write(path, &found).unwrap();
        }
        let expected = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            found == expected,
            "docs/reference/site-openapi.json differs; MILLIBOX_GOLDEN=write rewrites it"
        );
    }

    #[test]
    fn description_is_complete() {
        let document = serde_json::to_value(document()).unwrap();
        assert_eq!(openapi::mistakes(&document), [""; 0]);
        for (path, operations) in document["paths"].as_object().unwrap() {
            assert!(path.starts_with("/api/v1/"), "{path}");
            for (method, operation) in operations.as_object().unwrap() {
                assert!(operation["summary"].is_string(), "{method} {path}");
            }
        }
        assert!(document["paths"].as_object().unwrap().len() >= 13);
    }

    #[test]
    fn problem_of_a_contest_is_no_error() {
        let document = serde_json::to_value(document()).unwrap();
        let schema = |name: &str| &document["components"]["schemas"][name]["properties"];
        assert!(schema("Problem")["id"].is_object());
        assert!(schema("ProblemDetails")["code"].is_object());
    }
}

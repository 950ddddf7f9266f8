//! The description of the interface in OpenAPI 3.1, and as a page.

use super::problem::{ApiError, Problem};
use crate::http::web::error::PageError;
use crate::http::web::layout;
use crate::http::web::session::Session;
use crate::text::t;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use maud::html;
use utoipa::PartialSchema;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{InfoBuilder, OpenApi, OpenApiBuilder};
use utoipa_axum::router::OpenApiRouter;

const SECURITY_SCHEME: &str = "token";
const DESCRIPTION: &str = "\
Contests, problems and submissions of a site. Users create tokens on the page /account/tokens, and \
programs send them as `Authorization: Bearer TOKEN`. A program sees what the user of its token \
sees. Errors are problem details (RFC 9457) with the field `code`. A user may send 1,200 requests \
per minute; further requests are answered with 429 and the header `Retry-After`.";

/// The description, made from the types of the handlers.
fn document() -> OpenApi {
    let info = InfoBuilder::new()
        .title("millibox site")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
        .build();
    let empty = OpenApiBuilder::new().info(info).build();
    let (_, mut document) = OpenApiRouter::with_openapi(empty)
        .nest("/api/v1", super::documented())
        .split_for_parts();
    let components = document.components.get_or_insert_default();
    components.add_security_scheme(
        SECURITY_SCHEME,
        SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)),
    );
    components
        .schemas
        .insert("Problem".to_owned(), <Problem as PartialSchema>::schema());
    let no_scopes: [&str; 0] = [];
    document.security = Some(vec![SecurityRequirement::new(SECURITY_SCHEME, no_scopes)]);
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
    use serde_json::Value;

    /// Every reference leads to a schema, and every response has a description.
    fn check(part: &Value, document: &Value) {
        match part {
            Value::Object(fields) => {
                if let Some(reference) = fields.get("$ref") {
                    let pointer = reference.as_str().unwrap().trim_start_matches('#');
                    assert!(document.pointer(pointer).is_some(), "{reference}");
                }
                if let Some(Value::Object(responses)) = fields.get("responses") {
                    for response in responses.values() {
                        assert!(response["description"].is_string(), "{response}");
                    }
                }
                fields.values().for_each(|field| check(field, document));
            }
            Value::Array(parts) => parts.iter().for_each(|part| check(part, document)),
            _ => {}
        }
    }

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
        assert_eq!(document["openapi"], "3.1.0");
        check(&document, &document);
        let paths = document["paths"].as_object().unwrap();
        let mut ids = Vec::new();
        for (path, operations) in paths {
            for (method, operation) in operations.as_object().unwrap() {
                assert!(path.starts_with("/api/v1/"), "{path}");
                assert!(operation["summary"].is_string(), "{method} {path}");
                ids.push(operation["operationId"].to_string());
            }
        }
        let all = ids.len();
        assert!(all >= 13, "{ids:?}");
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), all, "operations have unique ids");
    }
}

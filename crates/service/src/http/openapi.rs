//! The description of the service's own interface as OpenAPI 3.1.

use super::v1;
use crate::http::problem::Problem;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{InfoBuilder, OpenApi, OpenApiBuilder};
use utoipa_axum::router::OpenApiRouter;

const DESCRIPTION: &str = "\
Runs programs in a sandbox. The request succeeds even if the program fails: see `outcome` \
and `blame` of the result. Errors are problem details (RFC 9457) with the field `code`; \
/docs/problems lists the codes. The answers 429, 503 and 504 have the header `Retry-After`; \
nothing ran, so a retry is safe.";
const SECURITY_SCHEME: &str = "token";

/// The description, made from the types of the handlers.
pub fn document() -> OpenApi {
    let info = InfoBuilder::new()
        .title("millibox")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
        .build();
    let empty = OpenApiBuilder::new().info(info).build();
    let (_, mut document) = OpenApiRouter::with_openapi(empty)
        .nest("/v1", v1::all_documented())
        .split_for_parts();
    let components = document.components.get_or_insert_default();
    components.add_security_scheme(
        SECURITY_SCHEME,
        SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)),
    );
    let problem = <Problem as utoipa::PartialSchema>::schema();
    components.schemas.insert("Problem".to_owned(), problem);
    let no_scopes: [&str; 0] = [];
    document.security = Some(vec![SecurityRequirement::new(SECURITY_SCHEME, no_scopes)]);
    document
}

/// The description as JSON.
pub fn json() -> String {
    document()
        .to_pretty_json()
        .map_or_else(|_| String::new(), |text| text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `MILLIBOX_GOLDEN=write` rewrites the file.
    #[test]
    fn description_equals_the_reference() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/reference/openapi.json"
        );
        let found = json();
        if std::env::var_os("MILLIBOX_GOLDEN").is_some_and(|value| value == "write") {
            std::fs::write(path, &found).unwrap();
        }
        let expected = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            found == expected,
            "docs/reference/openapi.json differs; MILLIBOX_GOLDEN=write rewrites it"
        );
    }

    #[test]
    fn every_reference_is_defined_and_every_response_described() {
        let document: serde_json::Value = serde_json::from_str(&json()).unwrap();
        assert_eq!(document["openapi"], "3.1.0");
        check(&document, &document);
    }

    #[test]
    fn operations_have_ids_of_their_own() {
        let document: serde_json::Value = serde_json::from_str(&json()).unwrap();
        let paths = document["paths"].as_object().unwrap().values();
        let operations = paths.flat_map(|path| path.as_object().unwrap().values());
        let ids: Vec<&str> = operations
            .map(|operation| operation["operationId"].as_str().unwrap())
            .collect();
        let unique: std::collections::BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(unique.len(), ids.len(), "{ids:?}");
    }

    fn check(document: &serde_json::Value, part: &serde_json::Value) {
        match part {
            serde_json::Value::Object(fields) => {
                if let Some(reference) = fields.get("$ref").and_then(|value| value.as_str()) {
                    let pointer = reference.trim_start_matches('#');
                    assert!(document.pointer(pointer).is_some(), "{reference}");
                }
                if let Some(responses) = fields.get("responses").and_then(|it| it.as_object()) {
                    for response in responses.values() {
                        assert!(response["description"].is_string(), "{response}");
                    }
                }
                fields.values().for_each(|part| check(document, part));
            }
            serde_json::Value::Array(parts) => parts.iter().for_each(|part| check(document, part)),
            _ => {}
        }
    }
}

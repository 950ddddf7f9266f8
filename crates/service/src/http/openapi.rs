//! The description of the service's own interface as OpenAPI 3.1.

use super::v1;
use millibox_web::openapi;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

const DESCRIPTION: &str = "\
Runs programs in a sandbox. The request succeeds even if the program fails: see `outcome` \
and `blame` of the result. Errors are problem details (RFC 9457) with the field `code`; \
/docs/problems lists the codes. The answers 429, 503 and 504 have the header `Retry-After`; \
nothing ran, so a retry is safe.";

/// The description, made from the types of the handlers.
pub fn document() -> OpenApi {
    let empty = openapi::empty("millibox", env!("CARGO_PKG_VERSION"), DESCRIPTION);
    let (_, mut document) = OpenApiRouter::with_openapi(empty)
        .nest("/v1", v1::all_documented())
        .split_for_parts();
    openapi::complete(&mut document);
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
    fn description_is_complete() {
        let document = serde_json::to_value(document()).unwrap();
        assert_eq!(openapi::mistakes(&document), [""; 0]);
    }
}

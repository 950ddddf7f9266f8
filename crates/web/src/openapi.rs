//! The OpenAPI descriptions of the servers: what they have in common, and checks for tests.

use crate::problem::ProblemDetails;
use serde_json::Value;
use std::collections::BTreeSet;
use utoipa::PartialSchema;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{InfoBuilder, OpenApi, OpenApiBuilder};

const SECURITY_SCHEME: &str = "token";

/// An empty description.
pub fn empty(title: &str, version: &str, description: &str) -> OpenApi {
    let info = InfoBuilder::new()
        .title(title)
        .version(version)
        .description(Some(description))
        .build();
    OpenApiBuilder::new().info(info).build()
}

/// Adds the token of clients and the schema of errors.
pub fn complete(document: &mut OpenApi) {
    let components = document.components.get_or_insert_default();
    components.add_security_scheme(
        SECURITY_SCHEME,
        SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)),
    );
    let problem = ProblemDetails::schema();
    components
        .schemas
        .insert("ProblemDetails".to_owned(), problem);
    let no_scopes: [&str; 0] = [];
    document.security = Some(vec![SecurityRequirement::new(SECURITY_SCHEME, no_scopes)]);
}

/// What is wrong with a description: references without a schema, responses without a description,
/// and operations without a unique id.
pub fn mistakes(document: &Value) -> Vec<String> {
    let mut mistakes = Vec::new();
    if document["openapi"] != "3.1.0" {
        mistakes.push(format!("openapi: {}", document["openapi"]));
    }
    check(document, document, &mut mistakes);
    let paths = document["paths"].as_object().into_iter().flatten();
    let mut ids = BTreeSet::new();
    for (path, operations) in paths {
        for (method, operation) in operations.as_object().into_iter().flatten() {
            match operation["operationId"].as_str() {
                Some(id) if ids.insert(id) => {}
                id => mistakes.push(format!("{method} {path}: operationId {id:?}")),
            }
        }
    }
    if ids.is_empty() {
        mistakes.push("no operations".to_owned());
    }
    mistakes
}

fn check(part: &Value, document: &Value, mistakes: &mut Vec<String>) {
    match part {
        Value::Object(fields) => {
            if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                let pointer = reference.trim_start_matches('#');
                if document.pointer(pointer).is_none() {
                    mistakes.push(reference.to_owned());
                }
            }
            if let Some(Value::Object(responses)) = fields.get("responses") {
                let responses = responses.values();
                let undescribed = responses.filter(|it| !it["description"].is_string());
                mistakes.extend(undescribed.map(|it| format!("no description: {it}")));
            }
            for field in fields.values() {
                check(field, document, mistakes);
            }
        }
        Value::Array(parts) => parts
            .iter()
            .for_each(|part| check(part, document, mistakes)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn mistakes_are_found() {
        let operation = |id: &str, schema: &str| {
            let response = json!({ "description": "Done", "content": { "$ref": schema } });
            json!({ "get": { "operationId": id, "responses": { "200": response } } })
        };
        let document = |second: Value| {
            let paths = json!({ "/a": operation("a", "#/components/A"), "/b": second });
            json!({ "openapi": "3.1.0", "paths": paths, "components": { "A": {} } })
        };
        let right = document(operation("b", "#/components/A"));
        assert_eq!(mistakes(&right), [""; 0]);
        let undescribed = json!({ "get": { "operationId": "b", "responses": { "200": {} } } });
        for wrong in [
            document(operation("a", "#/components/A")),
            document(operation("b", "#/components/B")),
            document(undescribed),
            json!({ "openapi": "3.1.0", "paths": {} }),
        ] {
            assert_eq!(mistakes(&wrong).len(), 1, "{wrong}");
        }
    }
}

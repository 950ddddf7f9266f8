//! Pages that show the description of the service's own interface. They need no scripts.

use super::{openapi, problem};
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::{DOCTYPE, Markup, html};
use serde_json::Value;
use std::sync::LazyLock;

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
color-scheme:light dark}code,pre{font:14px/1.4 ui-monospace,monospace}\
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;\
padding:.25rem .75rem .25rem 0;border-bottom:1px solid #8884}\
h2{margin-top:2.5rem}.method{font-weight:bold;text-transform:uppercase}";

static JSON: LazyLock<String> = LazyLock::new(openapi::json);
static PAGE: LazyLock<String> = LazyLock::new(|| {
    let document = serde_json::from_str(&JSON).unwrap_or_default();
    page(&document).into_string()
});

/// The routes.
pub fn router() -> Router {
    Router::new()
        .route("/openapi.json", get(json))
        .route("/docs", get(async || html_response(PAGE.clone())))
        .route(
            "/docs/problems",
            get(async || html_response(problems().into_string())),
        )
}

async fn json() -> Response {
    ([(CONTENT_TYPE, "application/json")], JSON.clone()).into_response()
}

fn html_response(page: String) -> Response {
    let headers = [
        (CONTENT_TYPE.as_str(), "text/html; charset=utf-8"),
        (
            "content-security-policy",
            "default-src 'none'; style-src 'unsafe-inline'",
        ),
    ];
    (headers, page).into_response()
}

fn frame(title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (STYLE) }
            }
            body { (content) }
        }
    }
}

fn text<'d>(value: &'d Value, field: &str) -> &'d str {
    value[field].as_str().unwrap_or_default()
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn page(document: &Value) -> Markup {
    let content = html! {
        h1 { (text(&document["info"], "title")) " " (text(&document["info"], "version")) }
        p { (text(&document["info"], "description")) }
        p {
            a href="/openapi.json" { "OpenAPI document" } " · "
            a href="/docs/problems" { "Problems" }
        }
        @for (path, operations) in fields(&document["paths"]) {
            @for (method, operation) in fields(operations) {
                (self::operation(path, method, operation))
            }
        }
        h2 { "Documents" }
        @for (name, schema) in fields(&document["components"]["schemas"]) {
            (self::schema(name, schema))
        }
    };
    frame("millibox: interface", &content)
}

fn operation(path: &str, method: &str, operation: &Value) -> Markup {
    html! {
        h2 { span.method { (method) } " " code { (path) } }
        p { strong { (text(operation, "summary")) } }
        p { (text(operation, "description")) }
        table {
            @for parameter in items(&operation["parameters"]) {
                tr {
                    td { code { (text(parameter, "name")) } }
                    td { (text(parameter, "in")) }
                    td { (text(parameter, "description")) }
                }
            }
            @for (kind, content) in fields(&operation["requestBody"]["content"]) {
                tr {
                    td { "body" }
                    td { code { (kind) } }
                    td { (type_of(&content["schema"])) }
                }
            }
            @for (status, response) in fields(&operation["responses"]) {
                tr {
                    td { (status) }
                    td {
                        @for (_, content) in fields(&response["content"]) {
                            (type_of(&content["schema"]))
                        }
                    }
                    td { (text(response, "description")) }
                }
            }
        }
    }
}

fn schema(name: &str, schema: &Value) -> Markup {
    html! {
        h3 id=(name) { (name) }
        p { (text(schema, "description")) }
        table {
            @for (field, value) in properties(schema) {
                tr {
                    td { code { (field) } }
                    td { (type_of(value)) }
                    td { (text(value, "description")) }
                }
            }
            @for variant in items(&schema["oneOf"]) {
                tr {
                    td { (type_of(variant)) }
                    td { (text(variant, "description")) }
                }
            }
        }
    }
}

/// The fields of an object, or of the objects that it combines.
fn properties(schema: &Value) -> Vec<(&String, &Value)> {
    let own = fields(&schema["properties"]);
    let joined = items(&schema["allOf"]).flat_map(|part| fields(&part["properties"]));
    own.chain(joined).collect()
}

/// A type in a few words, with a link to its description.
fn type_of(schema: &Value) -> Markup {
    let reference = schema["$ref"].as_str();
    let name = reference.and_then(|reference| reference.rsplit('/').next());
    let literals: Vec<&str> = items(&schema["enum"]).filter_map(Value::as_str).collect();
    let words = match &schema["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            names.join(" or ")
        }
        _ => String::new(),
    };
    html! {
        @if let Some(name) = name {
            a href={ "#" (name) } { (name) }
        } @else if !literals.is_empty() {
            @for literal in literals { code { (literal) } " " }
        } @else if schema["items"].is_object() {
            "array of " (type_of(&schema["items"]))
        } @else if schema["oneOf"].is_array() {
            @for (index, part) in items(&schema["oneOf"]).enumerate() {
                @if index > 0 { " or " }
                (type_of(part))
            }
        } @else if schema["properties"].is_object() {
            "object with "
            @for (field, _) in fields(&schema["properties"]) { code { (field) } " " }
        } @else {
            (words)
        }
    }
}

fn problems() -> Markup {
    let content = html! {
        h1 { "Problems" }
        p {
            "Errors are problem details (RFC 9457). The field " code { "code" }
            " names the kind of problem."
        }
        table {
            thead { tr { th { "code" } th { "status" } th { "meaning" } } }
            @for problem in problem::KINDS {
                tr id=(problem.code) {
                    td { code { (problem.code) } }
                    td { (problem.status) }
                    td { (problem.meaning) }
                }
            }
        }
    };
    frame("millibox: problems", &content)
}

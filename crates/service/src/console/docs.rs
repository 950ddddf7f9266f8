//! `/docs`: pages that show the description of the service's own interface.
//!
//! The pages have the frame of the console, and need no scripts.

use super::layout::{self, Page};
use crate::http::{openapi, problem};
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};
use serde_json::Value;
use std::sync::LazyLock;

static JSON: LazyLock<String> = LazyLock::new(openapi::json);
static PAGE: LazyLock<String> = LazyLock::new(|| {
    let document = serde_json::from_str(&JSON).unwrap_or_default();
    page(&document)
});

/// `GET /openapi.json`.
pub async fn json() -> Response {
    ([(CONTENT_TYPE, "application/json")], JSON.clone()).into_response()
}

/// `GET /docs`.
pub async fn show() -> Html<String> {
    Html(PAGE.clone())
}

/// Text in which backquotes enclose code, as in the comments of the source. An empty line begins a
/// paragraph.
fn prose(text: &str) -> Markup {
    html! {
        @for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
            p { (phrase(paragraph)) }
        }
    }
}

/// A part of a paragraph, with its code.
fn phrase(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
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

fn page(document: &Value) -> String {
    let info = &document["info"];
    let main = html! {
        h1 { (text(info, "title")) " " (text(info, "version")) }
        (prose(text(info, "description")))
        p { a href="/docs/problems" { "Problems" } " lists the codes of errors." }
        @for (path, operations) in fields(&document["paths"]) {
            @for (method, operation) in fields(operations) {
                (self::operation(path, method, operation))
            }
        }
        h2 #documents { "Documents" }
        @for (name, schema) in fields(&document["components"]["schemas"]) {
            (self::schema(name, schema))
        }
    };
    layout::page(Page::Docs, "API", html! {}, main).0
}

/// A table whose cells are below each other on a narrow screen.
fn table(label: &str, columns: [&str; 3], rows: &Markup) -> Markup {
    html! {
        div.table.reference {
            table aria-labelledby=(label) {
                thead { tr { @for column in columns { th scope="col" { (column) } } } }
                tbody { (rows) }
            }
        }
    }
}

fn operation(path: &str, method: &str, operation: &Value) -> Markup {
    let id = text(operation, "operationId");
    let parameters: Vec<&Value> = items(&operation["parameters"]).collect();
    let requests = html! {
        @for parameter in &parameters {
            tr {
                th scope="row" { code { (text(parameter, "name")) } }
                td { (text(parameter, "in")) }
                td { (phrase(text(parameter, "description"))) }
            }
        }
        @for (kind, content) in fields(&operation["requestBody"]["content"]) {
            tr {
                th scope="row" { "body" }
                td { code { (kind) } }
                td { (type_of(&content["schema"])) }
            }
        }
    };
    let responses = html! {
        @for (status, response) in fields(&operation["responses"]) {
            tr {
                th scope="row" { (status) }
                td {
                    @for (_, content) in fields(&response["content"]) {
                        (type_of(&content["schema"]))
                    }
                }
                td { (phrase(text(response, "description"))) }
            }
        }
    };
    html! {
        section.operation {
            h2 id=(id) { span.method { (method) } " " code { (path) } }
            p { strong { (phrase(text(operation, "summary"))) } }
            (prose(text(operation, "description")))
            @if !requests.0.is_empty() { (table(id, ["Request", "Place", "Meaning"], &requests)) }
            (table(id, ["Response", "Content", "Meaning"], &responses))
        }
    }
}

fn schema(name: &str, schema: &Value) -> Markup {
    let rows = html! {
        @for (field, value) in properties(schema) {
            tr {
                th scope="row" { code { (field) } }
                td { (type_of(value)) }
                td { (phrase(text(value, "description"))) }
            }
        }
        @for variant in items(&schema["oneOf"]) {
            tr {
                th scope="row" { "either" }
                td { (type_of(variant)) }
                td { (phrase(text(variant, "description"))) }
            }
        }
    };
    html! {
        section.operation {
            h3 id=(name) { code { (name) } }
            (prose(text(schema, "description")))
            @if !rows.0.is_empty() { (table(name, ["Field", "Type", "Meaning"], &rows)) }
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

/// `GET /docs/problems`.
pub async fn problems() -> Html<String> {
    let rows = html! {
        @for problem in problem::KINDS {
            tr id=(problem.code) {
                th scope="row" { code { (problem.code) } }
                td { (problem.status) }
                td { (phrase(problem.meaning)) }
            }
        }
    };
    let main = html! {
        h1 #problems { "Problems" }
        p {
            "Errors are problem details (RFC 9457). The field " code { "code" }
            " names the kind of problem."
        }
        (table("problems", ["Code", "Status", "Meaning"], &rows))
    };
    layout::page(Page::Docs, "Problems", html! {}, main)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backquotes_enclose_code_and_html_stays_text() {
        let shown = prose("Set `a<b>`, or `c`.\n\nThen & run.").into_string();
        let code = "<p>Set <code>a&lt;b&gt;</code>, or <code>c</code>.</p>";
        assert_eq!(shown, format!("{code}<p>Then &amp; run.</p>"));
    }

    #[test]
    fn page_has_no_backquotes_and_the_navigation_of_the_console() {
        assert!(!PAGE.contains('`'), "raw Markdown");
        assert!(PAGE.contains("href=\"/status\"") && PAGE.contains("aria-current=\"page\""));
    }
}

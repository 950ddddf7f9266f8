//! The fields of a request body: JSON, or a form in one of its two encodings.

use super::error::RequestError;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest as _, Multipart, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use serde_json::{Map, Value};

/// The field of a batch that contains the submissions.
const BATCH: &str = "submissions";

/// The fields of a body.
///
/// # Errors
/// The body is neither JSON nor a form.
pub async fn fields(headers: &HeaderMap, body: Bytes) -> Result<Map<String, Value>, RequestError> {
    let kind = headers.get(CONTENT_TYPE);
    let is = |name: &[u8]| {
        let start = kind.and_then(|kind| kind.as_bytes().get(..name.len()));
        start.is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    // Some clients send JSON with the content type of a form.
    if is(b"application/x-www-form-urlencoded") && !body.trim_ascii_start().starts_with(b"{") {
        return Ok(form(form_urlencoded::parse(&body).into_owned()));
    }
    if is(b"multipart/form-data") {
        let mut request = Request::new(Body::from(body));
        // The body is already in memory, and was bounded when it was read.
        DefaultBodyLimit::disable().apply(&mut request);
        let kind = kind.cloned().map(|kind| (CONTENT_TYPE, kind));
        request.headers_mut().extend(kind);
        return Ok(form(parts(request).await?.into_iter()));
    }
    object(&body)
}

/// The fields of a JSON object; other values have none.
fn object(body: &[u8]) -> Result<Map<String, Value>, RequestError> {
    if body.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Ok(Map::new()),
        Err(_) => Err(RequestError::Malformed),
    }
}

/// The names and texts of a form's parts.
async fn parts(request: Request) -> Result<Vec<(String, String)>, RequestError> {
    let mut form = Multipart::from_request(request, &())
        .await
        .map_err(|_| RequestError::Malformed)?;
    let mut parts = Vec::new();
    while let Some(part) = form
        .next_field()
        .await
        .map_err(|_| RequestError::Malformed)?
    {
        let name = part.name().unwrap_or_default().to_owned();
        let bytes = part.bytes().await.map_err(|_| RequestError::Malformed)?;
        let text = String::from_utf8(bytes.into()).map_err(|_| RequestError::Malformed)?;
        parts.push((name, text));
    }
    Ok(parts)
}

/// The fields of a form. As in Rails, `submissions[][NAME]` belongs to the last submission, or to
/// the next one if the last one already has this field.
fn form(pairs: impl Iterator<Item = (String, String)>) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut batch: Vec<Map<String, Value>> = Vec::new();
    for (name, value) in pairs {
        let in_batch = name
            .strip_prefix(BATCH)
            .and_then(|rest| rest.strip_prefix("[]["))
            .and_then(|rest| rest.strip_suffix(']'));
        let Some(field) = in_batch else {
            fields.insert(name, value.into());
            continue;
        };
        match batch.last_mut() {
            Some(last) if !last.contains_key(field) => {
                last.insert(field.to_owned(), value.into());
            }
            _ => batch.push(Map::from_iter([(field.to_owned(), value.into())])),
        }
    }
    if !batch.is_empty() {
        let batch = batch.into_iter().map(Value::Object).collect();
        fields.insert(BATCH.to_owned(), Value::Array(batch));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    async fn read(kind: &'static str, body: &'static str) -> Result<Value, RequestError> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, kind.parse().unwrap())]);
        fields(&headers, body.into()).await.map(Value::Object)
    }

    #[tokio::test]
    async fn json_and_both_encodings_of_a_form_are_read() {
        let expected = json!({ "source_code": "a+b", "language_id": "71" });
        let multipart = "--x\r\nContent-Disposition: form-data; name=\"source_code\"\r\n\r\na+b\r\n\
            --x\r\nContent-Disposition: form-data; name=\"language_id\"\r\n\r\n71\r\n--x--\r\n";
        for (kind, body) in [
            (
                "application/json",
                r#"{"source_code":"a+b","language_id":"71"}"#,
            ),
            (
                "application/x-www-form-urlencoded",
                r#"{"source_code":"a+b","language_id":"71"}"#,
            ),
            (
                "Application/X-WWW-Form-Urlencoded; charset=UTF-8",
                "source_code=a%2Bb&language_id=71",
            ),
            ("multipart/form-data; boundary=x", multipart),
        ] {
            assert_eq!(read(kind, body).await, Ok(expected.clone()), "{kind}");
        }
        assert_eq!(read("application/json", "").await, Ok(json!({})));
        assert_eq!(
            read("application/json", "{").await,
            Err(RequestError::Malformed)
        );
        let cut = read("multipart/form-data; boundary=x", "--x\r\n").await;
        assert_eq!(cut, Err(RequestError::Malformed));
    }

    #[test]
    fn repeated_field_begins_the_next_submission() {
        let pairs =
            ["a", "b", "b", "a"].map(|name| (format!("submissions[][{name}]"), "1".to_owned()));
        let expected = json!({ "submissions": [{ "a": "1", "b": "1" }, { "b": "1", "a": "1" }] });
        assert_eq!(Value::Object(form(pairs.into_iter())), expected);
    }
}

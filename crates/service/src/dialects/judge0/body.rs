//! The fields of a request body: JSON, or a form in one of its two encodings.

use super::error::RequestError;
use crate::http::bodies::{MAX_FORM_FIELDS, Media};
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest as _, Multipart, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use serde_json::{Map, Value};

/// The field of a batch that contains the submissions.
const BATCH: &str = "submissions";

/// The fields of a body. A form is read up to its first submission beyond `max_batch`.
///
/// # Errors
/// The body is neither JSON nor a form, or the form has too many fields.
pub async fn fields(
    headers: &HeaderMap,
    body: Bytes,
    max_batch: usize,
) -> Result<Map<String, Value>, RequestError> {
    match Media::of(headers) {
        // Some clients send JSON with the content type of a form.
        Media::Urlencoded if !is_object(&body) => {
            form(form_urlencoded::parse(&body).into_owned(), max_batch)
        }
        Media::Multipart => {
            let mut request = Request::new(Body::from(body));
            // The body is already in memory, and was bounded when it was read.
            DefaultBodyLimit::disable().apply(&mut request);
            let kind = headers.get(CONTENT_TYPE).cloned();
            let kind = kind.map(|kind| (CONTENT_TYPE, kind));
            request.headers_mut().extend(kind);
            form(parts(request).await?.into_iter(), max_batch)
        }
        Media::Urlencoded | Media::Other => object(&body),
    }
}

/// Whether a body, or its beginning, is that of a JSON object.
pub fn is_object(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"{")
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
        if parts.len() == MAX_FORM_FIELDS {
            return Err(RequestError::TooManyFields);
        }
        parts.push((name, text));
    }
    Ok(parts)
}

/// The fields of a form. As in Rails, `submissions[][NAME]` belongs to the last submission, or to
/// the next one if the last one already has this field. The result has at most one submission
/// more than `max_batch`.
fn form(
    pairs: impl Iterator<Item = (String, String)>,
    max_batch: usize,
) -> Result<Map<String, Value>, RequestError> {
    let mut fields = Map::new();
    let mut batch: Vec<Map<String, Value>> = Vec::new();
    for (index, (name, value)) in pairs.enumerate() {
        if index == MAX_FORM_FIELDS {
            return Err(RequestError::TooManyFields);
        }
        let in_batch = name
            .strip_prefix(BATCH)
            .and_then(|rest| rest.strip_prefix("[]["))
            .and_then(|rest| rest.strip_suffix(']'));
        let Some(field) = in_batch else {
            fields.insert(name, value.into());
            continue;
        };
        let is_too_large = batch.len() > max_batch;
        match batch.last_mut() {
            Some(last) if !last.contains_key(field) => {
                last.insert(field.to_owned(), value.into());
            }
            _ if is_too_large => break,
            _ => batch.push(Map::from_iter([(field.to_owned(), value.into())])),
        }
    }
    if !batch.is_empty() {
        let batch = batch.into_iter().map(Value::Object).collect();
        fields.insert(BATCH.to_owned(), Value::Array(batch));
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MAX_BATCH: usize = 20;

    async fn read(kind: &str, body: impl Into<Bytes>) -> Result<Value, RequestError> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, kind.parse().unwrap())]);
        let found = fields(&headers, body.into(), MAX_BATCH).await;
        found.map(Value::Object)
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
        let found = form(pairs.into_iter(), MAX_BATCH).unwrap();
        assert_eq!(Value::Object(found), expected);
    }

    #[tokio::test]
    async fn form_is_read_up_to_its_bounds() {
        let urlencoded = "application/x-www-form-urlencoded";
        let multipart = |names: &mut dyn Iterator<Item = String>| {
            let part = |name| {
                format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n\r\n")
            };
            names.map(part).collect::<String>() + "--x--\r\n"
        };
        let names = |count| (0..count).map(|number| format!("field{number}"));
        let joined = |count| names(count).collect::<Vec<_>>().join("&");
        let kind = "multipart/form-data; boundary=x";
        for (kind, allowed, too_many) in [
            (
                urlencoded,
                joined(MAX_FORM_FIELDS),
                joined(MAX_FORM_FIELDS + 1),
            ),
            (
                kind,
                multipart(&mut names(MAX_FORM_FIELDS)),
                multipart(&mut names(MAX_FORM_FIELDS + 1)),
            ),
        ] {
            let found = read(kind, allowed).await.unwrap();
            assert_eq!(found.as_object().unwrap().len(), MAX_FORM_FIELDS);
            let error = read(kind, too_many).await.unwrap_err();
            assert_eq!(error, RequestError::TooManyFields);
        }
        let many = MAX_FORM_FIELDS / 2;
        let name = "submissions[][a]";
        for (kind, body) in [
            (urlencoded, format!("{name}&").repeat(many)),
            (
                kind,
                multipart(&mut std::iter::repeat_n(name.to_owned(), many)),
            ),
        ] {
            let found = read(kind, body).await.unwrap();
            assert_eq!(found[BATCH].as_array().unwrap().len(), MAX_BATCH + 1);
        }
    }
}

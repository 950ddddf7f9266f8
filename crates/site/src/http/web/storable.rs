//! Refuses texts that databases do not store: PostgreSQL has no character U+0000 in texts.
//!
//! Forms and addresses are checked here for all routes, JSON by [`Sent`], and forms with files
//! where their fields are read. The database checks all texts again (`db/value.rs`), so both
//! databases refuse the same ones.

use super::error::PageError;
use super::mistake::Mistake;
use crate::http::api::problem::ApiError;
use crate::http::body::Kept;
use axum::Json;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

const FORM: &str = "application/x-www-form-urlencoded";
/// The maximum length of a field's name in an error message, in bytes.
const MAX_FIELD: usize = 64;

/// A text that cannot be stored.
#[derive(Debug, thiserror::Error)]
#[error("a text contains the character U+0000")]
struct Unstorable;

/// Checks a text of a form.
///
/// # Errors
/// The text cannot be stored.
pub fn check(field: &str, text: &str) -> Result<(), Mistake> {
    match text.contains('\0') {
        true => Err(Mistake::ZeroByte {
            field: field.to_owned(),
        }),
        false => Ok(()),
    }
}

/// Searches a form, whose bytes arrive in parts, for zero bytes.
#[derive(Debug, Default)]
struct Scanner {
    /// The name of the field that is being read.
    field: Vec<u8>,
    is_value: bool,
    /// The last bytes, of which three can be one byte of the text.
    last: [u8; 2],
}

impl Scanner {
    /// Whether a part contains a zero byte. The name of its field is then in `field`.
    fn finds(&mut self, part: &[u8]) -> bool {
        for &byte in part {
            if byte == 0 || (self.last == *b"%0" && byte == b'0') {
                return true;
            }
            match byte {
                b'&' => {
                    self.field.clear();
                    self.is_value = false;
                }
                b'=' => self.is_value = true,
                _ if !self.is_value && self.field.len() < MAX_FIELD => self.field.push(byte),
                _ => {}
            }
            self.last = [self.last[1], byte];
        }
        false
    }

    fn mistake(&self) -> Mistake {
        Mistake::ZeroByte {
            field: String::from_utf8_lossy(&self.field).into_owned(),
        }
    }
}

/// A form that ends with an error at a zero byte.
struct Scanned {
    body: Body,
    scanner: Scanner,
    found: Arc<OnceLock<Mistake>>,
    /// Receives the part with the mistake, too.
    kept: Option<Arc<Kept>>,
}

impl HttpBody for Scanned {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(frame)) = &frame
            && let Some(part) = frame.data_ref()
            && self.scanner.finds(part)
        {
            let mistake = self.scanner.mistake();
            // Nothing after the first mistake is read.
            let _ = self.found.set(mistake);
            if let Some(kept) = &self.kept {
                kept.add(part);
                if self.body.is_end_stream() {
                    kept.end();
                }
            }
            return Poll::Ready(Some(Err(axum::Error::new(Unstorable))));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Rejects requests whose URL or form contains a zero byte.
pub async fn refuse_zero_bytes(mut request: Request, next: Next) -> Response {
    let is_program = request.uri().path().starts_with("/api/v1/");
    let refuse = |mistake: Mistake| match is_program {
        true => ApiError::from(PageError::Invalid(mistake)).into_response(),
        false => PageError::Invalid(mistake).into_response(),
    };
    if Scanner::default().finds(request.uri().path().as_bytes()) {
        return match is_program {
            true => ApiError::from(PageError::NotFound).into_response(),
            false => PageError::NotFound.into_response(),
        };
    }
    let mut scanner = Scanner::default();
    if scanner.finds(request.uri().query().unwrap_or_default().as_bytes()) {
        return refuse(scanner.mistake());
    }
    let media = request.headers().get(CONTENT_TYPE);
    if !media.is_some_and(|media| media.as_bytes().starts_with(FORM.as_bytes())) {
        return next.run(request).await;
    }
    let found = Arc::new(OnceLock::new());
    let kept = request.extensions().get::<Arc<Kept>>().cloned();
    request = request.map(|body| {
        Body::new(Scanned {
            body,
            scanner: Scanner::default(),
            found: found.clone(),
            kept,
        })
    });
    let response = next.run(request).await;
    match Arc::into_inner(found).and_then(OnceLock::into_inner) {
        Some(mistake) => refuse(mistake),
        None => response,
    }
}

/// JSON whose texts can be stored.
pub struct Sent<T>(pub T);

/// The name of the field with a zero byte, such as `text` or `users[3].name`.
fn unstorable(value: &Value, name: &str) -> Option<String> {
    match value {
        Value::String(text) => text.contains('\0').then(|| name.to_owned()),
        Value::Array(all) => all
            .iter()
            .enumerate()
            .find_map(|(index, one)| unstorable(one, &format!("{name}[{index}]"))),
        Value::Object(all) => all.iter().find_map(|(key, one)| {
            let name = match name {
                "" => key.clone(),
                name => format!("{name}.{key}"),
            };
            unstorable(one, &name)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// A zero byte in JSON.
const ESCAPED_ZERO: &[u8] = b"\\u0000";
/// In larger bodies, the database finds zero bytes, without the name of the field.
const MAX_NAMED_BYTES: usize = 64 << 10;

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Sent<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Sent<T>, ApiError> {
        let (parts, body) = request.into_parts();
        let request = Request::from_parts(parts.clone(), body);
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|error| ApiError::Malformed(error.body_text()))?;
        // Malformed JSON gets the error of the next step. A tree of values needs many times the
        // memory of its text, so it is built only if a zero byte may be in the text.
        if bytes.len() <= MAX_NAMED_BYTES
            && bytes
                .windows(ESCAPED_ZERO.len())
                .any(|part| part == ESCAPED_ZERO)
            && let Ok(value) = serde_json::from_slice(&bytes)
            && let Some(field) = unstorable(&value, "")
        {
            return Err(PageError::Invalid(Mistake::ZeroByte { field }).into());
        }
        let request = Request::from_parts(parts, Body::from(bytes));
        let sent = Json::from_request(request, state).await;
        let Json(sent) =
            sent.map_err(|error: JsonRejection| ApiError::Malformed(error.body_text()))?;
        Ok(Sent(sent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_byte_is_found_in_any_division_and_named_by_its_field() {
        for (form, field) in [
            (&b"login=a&name=b%00c"[..], Some("name")),
            (b"login=\0", Some("login")),
            (b"%00", Some("%0")),
            (b"a=%000&b", Some("a")),
            (b"a=%2500&b=%010%0&c=00", None),
            (b"a=%&b=00", None),
        ] {
            for length in 1..=form.len() {
                let mut scanner = Scanner::default();
                let found = form.chunks(length).any(|part| scanner.finds(part));
                assert_eq!(found, field.is_some(), "{form:?} {length}");
                if let Some(field) = field {
                    assert_eq!(scanner.field, field.as_bytes(), "{length}");
                }
            }
        }
    }

    #[test]
    fn zero_byte_in_json_is_named_by_its_path() {
        let value = serde_json::json!({"a": 1, "b": [{"c": "x"}, {"c": "x\u{0}"}]});
        assert_eq!(unstorable(&value, ""), Some("b[1].c".to_owned()));
        assert_eq!(unstorable(&serde_json::json!({"a": "\\u0000"}), ""), None);
    }
}

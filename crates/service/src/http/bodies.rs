//! Bounds the memory of request bodies that are being read or wait.
//!
//! A body is in memory as a whole before it is parsed, and its parsed form may be many times larger
//! than its text. So bodies share one pool, in which each client has a share, and a body may
//! contain only a limited number of JSON values or form fields. Uploads of stored files go to the
//! disk, and have their own bounds.

use super::encoding::{self, UnsupportedEncoding};
use super::held::hold;
use super::problem;
use crate::config::Dialect;
use crate::core::queue::ClientId;
use crate::core::share::Claim;
use crate::dialects::judge0;
use crate::service::Service;
use crate::tokens::Tokens;
use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http_body::{Frame, SizeHint};
use serde_json::json;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The maximum number of values in a JSON document. The largest batches need about 20 for each run.
pub const MAX_VALUES: usize = 500_000;
/// The maximum number of fields in a form. Each takes several hundred bytes of memory, even if its
/// text is short. The largest batches need a few hundred.
pub const MAX_FORM_FIELDS: usize = 10_000;
/// The end of the path whose requests may be forms in the native interface.
const FORM_ROUTE: &str = "/judgings";
/// The number of WebSockets that the pool has room for, even if it is small.
const MIN_SOCKETS: u64 = 32;
/// The client of requests without a valid token.
pub const STRANGER: ClientId = ClientId::MAX;

/// Counts the values of a JSON document that arrives in pieces.
#[derive(Debug, Default)]
pub struct Values {
    count: usize,
    is_in_string: bool,
    is_escaped: bool,
}

impl Values {
    /// Reads the next piece. Returns whether there are too many values.
    pub fn are_too_many(&mut self, piece: &[u8]) -> bool {
        for byte in piece {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_in_string => self.is_escaped = true,
                b'"' => self.is_in_string = !self.is_in_string,
                b',' | b'[' | b'{' if !self.is_in_string => self.count += 1,
                _ => {}
            }
        }
        self.count > MAX_VALUES
    }
}

/// The media type of a body, as far as its reader depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// The fields are separated by `&`.
    Urlencoded,
    /// The fields are parts.
    Multipart,
    /// Readers expect JSON.
    Other,
}

impl Media {
    /// The media type that the headers of a body name. Readers and bounds must use the same
    /// function, so that no reader parses a body whose values were not counted.
    pub fn of(headers: &HeaderMap) -> Media {
        let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        let is = |name: &[u8]| {
            let start = kind.and_then(|kind| kind.get(..name.len()));
            start.is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        match () {
            () if is(b"application/x-www-form-urlencoded") => Media::Urlencoded,
            () if is(b"multipart/form-data") => Media::Multipart,
            () => Media::Other,
        }
    }
}

/// Counts what makes the parsed form of a body larger than its text.
#[derive(Debug)]
enum Counter {
    /// The body is JSON.
    Json(Values),
    /// The body is a form whose fields are separated by `&`, or a JSON object. The first byte
    /// decides.
    Pairs { begun: bool, count: usize },
    /// The reader of the body stops at its bound.
    Reader,
}

impl Counter {
    /// The counter for the body of a request to the interface.
    fn of(dialect: Option<Dialect>, head: &Parts) -> Counter {
        let media = Media::of(&head.headers);
        let json = || Counter::Json(Values::default());
        match dialect {
            Some(Dialect::GoJudgeGrpc) => Counter::Reader,
            Some(Dialect::Judge0) => match media {
                Media::Urlencoded => Counter::Pairs {
                    begun: false,
                    count: 0,
                },
                Media::Multipart => Counter::Reader,
                Media::Other => json(),
            },
            // Other routes read JSON, regardless of the type.
            None if media == Media::Multipart && head.uri.path().ends_with(FORM_ROUTE) => {
                Counter::Reader
            }
            _ => json(),
        }
    }

    /// Reads the next piece.
    fn check(&mut self, piece: &[u8]) -> Result<(), BodyError> {
        if let Counter::Pairs { begun: false, .. } = self
            && judge0::is_object(piece)
        {
            *self = Counter::Json(Values::default());
        }
        match self {
            Counter::Json(values) => match values.are_too_many(piece) {
                true => Err(BodyError::Values),
                false => Ok(()),
            },
            Counter::Pairs { begun, count } => {
                *begun |= !piece.trim_ascii_start().is_empty();
                *count += piece.iter().filter(|byte| **byte == b'&').count();
                match *count > MAX_FORM_FIELDS {
                    true => Err(BodyError::Fields),
                    false => Ok(()),
                }
            }
            Counter::Reader => Ok(()),
        }
    }
}

/// A body that is too large for the memory of the service.
#[derive(Debug, thiserror::Error)]
enum BodyError {
    #[error("the body contains more than {MAX_VALUES} values; split the request")]
    Values,
    #[error("the form has more than {MAX_FORM_FIELDS} fields; split the request")]
    Fields,
    #[error("the requests of this client are too large together; try again later")]
    Share,
}

struct Bounded {
    body: Body,
    counter: Counter,
    /// The charge for a body whose length is not known.
    growing: Option<Claim<ClientId>>,
    /// The largest charge. A body that consists of many messages is not in memory as a whole.
    left: u64,
}

impl http_body::Body for Bounded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let data = match &frame {
            Some(Ok(frame)) => frame.data_ref(),
            _ => None,
        };
        if let Some(data) = data {
            if let Err(error) = self.counter.check(data) {
                return Poll::Ready(Some(Err(axum::Error::new(error))));
            }
            let more = (data.len() as u64).min(self.left);
            self.left -= more;
            if self.growing.as_mut().is_some_and(|place| !place.grow(more)) {
                return Poll::Ready(Some(Err(axum::Error::new(BodyError::Share))));
            }
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

/// The state of [`bound`]: the service, and the dialect of the routes.
pub type Interface = (Arc<Service>, Option<Dialect>);

/// Charges the body of a request to its client, until the answer is sent.
pub async fn bound(
    State((service, dialect)): State<Interface>,
    request: Request,
    next: Next,
) -> Response {
    let (head, body) = request.into_parts();
    let client = client(&service.tokens, &head);
    if client == STRANGER && service.tokens.are_required() {
        // Every handler checks the token before it needs the body. So the body is neither read nor
        // charged, and strangers cannot use up the pool.
        return next.run(Request::from_parts(head, Body::empty())).await;
    }
    let max_bytes = service.config.max_body_bytes as u64;
    let (head, body) = match encoding::expanded(Request::from_parts(head, body), max_bytes) {
        Ok(request) => request.into_parts(),
        Err(error) => return unsupported(dialect, error),
    };
    let text = |name| head.headers.get(name)?.to_str().ok();
    let length = text(CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    // A body beyond the maximum is rejected without being read.
    let charged = length.map_or(0, |length| length.min(max_bytes));
    let Some(place) = service.bodies.take(client, charged) else {
        return overloaded(dialect, &BodyError::Share);
    };
    let (known, growing) = match length {
        Some(_) => (Some(place), None),
        None => (None, Some(place)),
    };
    let body = Body::new(Bounded {
        body,
        counter: Counter::of(dialect, &head),
        growing,
        left: max_bytes,
    });
    hold(next.run(Request::from_parts(head, body)).await, known)
}

/// The client whose share a body uses. The handler checks the token again, and how the client sent
/// it.
pub fn client(tokens: &Tokens, head: &Parts) -> ClientId {
    let text = |name: &str| head.headers.get(name)?.to_str().ok();
    let authorization = text(AUTHORIZATION.as_str()).unwrap_or_default().trim();
    let last = authorization.rsplit(' ').next().unwrap_or_default();
    let decoded = BASE64.decode(last).ok();
    let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
    let basic = decoded.as_deref().and_then(|pair| pair.split_once(':'));
    let basic = basic.map(|(user, password)| if password.is_empty() { user } else { password });
    let query = head.uri.query().unwrap_or_default();
    let parameter = form_urlencoded::parse(query.as_bytes());
    let parameters = parameter.filter(|(name, _)| name.eq_ignore_ascii_case("x-auth-token"));
    let parameters: Vec<String> = parameters.map(|(_, value)| value.into_owned()).collect();
    // A token that a handler would accept must not be missed here, because the handler would then
    // find no body.
    let rest = authorization.split_once(' ').map(|(_, rest)| rest.trim());
    let candidates = [
        text("x-auth-token"),
        Some(last),
        rest,
        Some(authorization),
        basic,
    ];
    candidates
        .into_iter()
        .flatten()
        .chain(parameters.iter().map(String::as_str))
        .find_map(|token| tokens.client(Some(token)).ok())
        .map_or(STRANGER, |client| client.id)
}

/// Charges the messages of a WebSocket to its client as long as the claim exists. Returns the claim
/// and its size: `largest`, or less if the largest body or the pool is smaller. `None` means that
/// the client has used up its share.
pub fn socket(
    service: &Service,
    client: ClientId,
    largest: usize,
) -> Option<(Claim<ClientId>, usize)> {
    let config = &service.config;
    let share = config.queue.max_bytes / MIN_SOCKETS;
    let share = usize::try_from(share).unwrap_or(usize::MAX);
    let largest = largest.min(config.max_body_bytes).min(share);
    let place = service.bodies.take(client, largest as u64)?;
    Some((place, largest))
}

/// The response that makes clients of an interface try again later.
pub fn overloaded(dialect: Option<Dialect>, reason: &dyn std::error::Error) -> Response {
    let later = [(RETRY_AFTER, HeaderValue::from_static("1"))];
    let message = reason.to_string();
    match dialect {
        None => problem::share_used(message).into_response(),
        Some(Dialect::GoJudge) => {
            let body = Json(json!("worker queue is full"));
            (StatusCode::INTERNAL_SERVER_ERROR, body).into_response()
        }
        Some(Dialect::GoJudgeGrpc) => tonic::Status::resource_exhausted(message).into_http(),
        Some(Dialect::Piston) => {
            let body = Json(json!({ "message": message }));
            (StatusCode::SERVICE_UNAVAILABLE, later, body).into_response()
        }
        Some(Dialect::SandboxFusion) => {
            let body = Json(json!({ "detail": message }));
            (StatusCode::GATEWAY_TIMEOUT, later, body).into_response()
        }
        Some(Dialect::Judge0) => {
            let body = Json(json!({ "error": "queue is full" }));
            (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
        }
    }
}

/// The response to a body that cannot be expanded, in the form of an interface's errors.
fn unsupported(dialect: Option<Dialect>, error: UnsupportedEncoding) -> Response {
    let message = error.to_string();
    let body = match dialect {
        None | Some(Dialect::GoJudgeGrpc) => return error.into_response(),
        Some(Dialect::GoJudge) => json!(message),
        Some(Dialect::Piston) => json!({ "message": message }),
        Some(Dialect::SandboxFusion) => json!({ "detail": message }),
        Some(Dialect::Judge0) => json!({ "error": message }),
    };
    error.response(Json(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings_and_across_pieces() {
        let count = |pieces: &[&str]| {
            let mut values = Values::default();
            for piece in pieces {
                values.are_too_many(piece.as_bytes());
            }
            values.count
        };
        assert_eq!(count(&[r#"{"a":[1,2],"b":"[,{\",["}"#]), 4);
        assert_eq!(count(&[r#"["\"#, r#"",","#, r#"x",1]"#]), 2);
        let many = "0,".repeat(MAX_VALUES + 1);
        assert!(Values::default().are_too_many(many.as_bytes()));
    }

    fn counter(dialect: Option<Dialect>, path: &str, kind: &str) -> Counter {
        let request = axum::http::Request::builder().uri(path);
        let request = request.header(CONTENT_TYPE, kind).body(()).unwrap();
        Counter::of(dialect, &request.into_parts().0)
    }

    #[test]
    fn values_are_counted_unless_the_reader_of_a_form_counts() {
        let many = "0,".repeat(MAX_VALUES + 1);
        let form = "multipart/form-data; boundary=x";
        for (dialect, path, kind, is_counted) in [
            (Some(Dialect::Judge0), "/submissions", form, false),
            (Some(Dialect::Judge0), "/submissions", "multipart/x", true),
            (Some(Dialect::GoJudge), "/run", form, true),
            (None, "/v1/judgings", form, false),
            (None, "/v1/judgings", "multipart/x", true),
            (None, "/v1/runs", form, true),
        ] {
            let checked = counter(dialect, path, kind).check(many.as_bytes());
            assert_eq!(checked.is_err(), is_counted, "{path} {kind}");
        }
    }

    #[test]
    fn fields_of_forms_and_values_of_objects_with_their_type_are_counted() {
        let kind = "application/x-www-form-urlencoded";
        let check = |pieces: &[&str]| {
            let mut counter = counter(Some(Dialect::Judge0), "/submissions", kind);
            let mut pieces = pieces.iter();
            pieces.try_for_each(|piece| counter.check(piece.as_bytes()))
        };
        let fields = |count| "\"a&".repeat(count);
        check(&[" ", &fields(MAX_FORM_FIELDS)]).unwrap();
        let error = check(&[" ", &fields(MAX_FORM_FIELDS), "{", "&"]).unwrap_err();
        assert!(matches!(error, BodyError::Fields));
        check(&["source_code=", &"0,".repeat(MAX_VALUES + 1)]).unwrap();
        let error = check(&[" ", "{", &"0,".repeat(MAX_VALUES + 1)]).unwrap_err();
        assert!(matches!(error, BodyError::Values));
        check(&["{", &fields(MAX_FORM_FIELDS + 1)]).unwrap();
    }
}

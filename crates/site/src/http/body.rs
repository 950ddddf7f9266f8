//! Bodies of requests. A client that sends too slowly receives an error, so that it cannot occupy
//! a connection or a place for an upload forever. Bodies that are kept in memory have a common
//! bound, which their users and the networks of guests share. So have copies of forms, which are
//! kept until the response.

use super::MAX_BODY;
use super::api::caller;
use super::api::problem::ApiError;
use super::web::error::{Overload, PageError};
use super::web::session::{self, cookie_token};
use crate::app::App;
use crate::core::party::Party;
use crate::core::pool::Permit;
use crate::core::throttle::customer;
use crate::core::time::Time;
use crate::db::{DbError, api_token, session as sessions};
use crate::limits::MAX_GUEST_BODY;
use axum::Error;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::Uri;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, Limited};
use hyper::body::SizeHint;
use millibox_web::body::{Frames, length};
pub use millibox_web::pace::SPEED;
use millibox_web::pace::Speed;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// The speed of large uploads, 16 KiB/s: a place for an upload is rarer than a connection.
pub const UPLOAD_SPEED: Speed = Speed {
    time: Duration::from_secs(30),
    bytes: 480 << 10,
};
/// The maximum size of a refused body that is still read, in bytes.
const MAX_DISCARDED: usize = 1 << 20;

/// The maximum size of a form that is kept as a whole, in bytes. Forms without a large file fit.
const MAX_KEPT: usize = MAX_BODY;
/// The bytes at the end of a larger form that are kept. They contain the fields after a file.
const KEPT_END: usize = 16 << 10;

/// Why a body ends early.
#[derive(Debug, Clone, Copy, thiserror::Error)]
enum Failure {
    #[error("the body arrives too slowly")]
    Slow,
    #[error("the body is too large for a guest")]
    Large,
    #[error("too many bodies arrive")]
    Crowded,
}

impl From<Failure> for PageError {
    fn from(failure: Failure) -> PageError {
        match failure {
            Failure::Slow => PageError::TooSlow,
            Failure::Large => PageError::TooLarge,
            Failure::Crowded => PageError::Busy(Overload::Forms),
        }
    }
}

/// Answers with one error if the body has failed, because handlers report a body that ends early in
/// different ways.
fn answer(failure: Option<Failure>, is_program: bool, response: Response) -> Response {
    match failure.map(PageError::from) {
        None => response,
        Some(error) if is_program => ApiError::from(error).into_response(),
        Some(error) => error.into_response(),
    }
}

fn is_of_program(uri: &Uri) -> bool {
    uri.path().starts_with("/api/v1/")
}

/// Rejects requests whose bodies arrive too slowly.
pub async fn pace(State(speed): State<Speed>, request: Request, next: Next) -> Response {
    let is_program = is_of_program(request.uri());
    let (request, slowness) = millibox_web::body::pace(request, speed);
    let response = next.run(request).await;
    answer(slowness.get().map(|_| Failure::Slow), is_program, response)
}

/// A body whose bytes count for its party while the request is being handled.
struct Charged {
    body: Body,
    place: Arc<Permit<Party>>,
    /// Another party needs the place.
    lost: Pin<Box<WaitForCancellationFutureOwned>>,
    /// The bytes that may still arrive.
    left: usize,
    failure: Arc<OnceLock<Failure>>,
}

impl HttpBody for Charged {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Frames {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        let bytes = match &frame {
            Poll::Ready(frame) => length(frame.as_ref()),
            Poll::Pending => 0,
        };
        let failure = if bytes > self.left {
            Failure::Large
        } else if self.lost.as_mut().poll(context).is_ready() || !self.place.grow(bytes) {
            Failure::Crowded
        } else {
            self.left -= bytes;
            return frame;
        };
        let failure = self.failure.get_or_init(|| failure);
        Poll::Ready(Some(Err(Error::new(*failure))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A copy of a form, with which the form is shown again if it is rejected. Its bytes count for the
/// party that has sent it. If the party has no room for them, nothing is kept.
#[derive(Debug, Default)]
pub struct Kept(Mutex<Option<KeptForm>>);

#[derive(Debug)]
struct KeptForm {
    copy: Copied,
    place: Arc<Permit<Party>>,
    /// Another party needs the place.
    lost: CancellationToken,
}

/// What was read of a form.
#[derive(Debug, Default)]
pub struct Copied {
    /// The first bytes.
    pub begin: Vec<u8>,
    /// The last bytes of a form that does not fit into `begin`.
    pub end: VecDeque<u8>,
    /// The form was read to its end.
    pub has_ended: bool,
}

impl Copied {
    /// Adds a part. Returns the number of bytes that the copy has grown by.
    fn add(&mut self, part: &[u8]) -> usize {
        let before = self.begin.len() + self.end.len();
        let (begin, rest) = part.split_at(part.len().min(MAX_KEPT - self.begin.len()));
        self.begin.extend_from_slice(begin);
        self.end
            .extend(&rest[rest.len().saturating_sub(KEPT_END)..]);
        let surplus = self.end.len().saturating_sub(KEPT_END);
        self.end.drain(..surplus);
        (self.begin.len() + self.end.len()).saturating_sub(before)
    }
}

impl Kept {
    fn lock(&self) -> MutexGuard<'_, Option<KeptForm>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, place: Arc<Permit<Party>>, lost: CancellationToken) {
        let copy = Copied::default();
        *self.lock() = Some(KeptForm { copy, place, lost });
    }

    /// Adds a part of the form.
    pub fn add(&self, part: &[u8]) {
        let mut kept = self.lock();
        let has_room = kept.as_mut().is_some_and(|form| {
            let bytes = form.copy.add(part);
            !form.lost.is_cancelled() && form.place.grow(bytes)
        });
        if !has_room {
            *kept = None;
        }
    }

    /// The form was read to its end.
    pub fn end(&self) {
        if let Some(form) = self.lock().as_mut() {
            form.copy.has_ended = true;
        }
    }

    /// The copy; `None` if nothing was kept. Its bytes count until this value is dropped.
    pub fn copy(&self) -> Option<Copied> {
        let mut kept = self.lock();
        kept.as_mut().map(|form| std::mem::take(&mut form.copy))
    }
}

/// A body of which a copy is kept.
struct Copying {
    body: Body,
    kept: Arc<Kept>,
}

impl HttpBody for Copying {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Frames {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(frame)) = &frame
            && let Some(part) = frame.data_ref()
        {
            self.kept.add(part);
        }
        let has_failed = matches!(frame, Some(Err(_)));
        if frame.is_none() || (!has_failed && self.body.is_end_stream()) {
            self.kept.end();
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

/// A body that is copied if its form may be shown again.
fn copied(parts: &Parts, body: Body, place: &Arc<Permit<Party>>, lost: &CancellationToken) -> Body {
    match parts.extensions.get::<Arc<Kept>>().cloned() {
        Some(kept) => {
            kept.begin(place.clone(), lost.clone());
            Body::new(Copying { body, kept })
        }
        None => body,
    }
}

/// Passes a request on. A small form of a guest is read as a whole before: the guest may have been
/// signed in when the form was opened, and a handler that requires a session does not read what was
/// typed.
async fn pass_on(parts: Parts, body: Body, is_guest: bool, next: Next) -> Response {
    let is_form = parts.extensions.get::<Arc<Kept>>().is_some();
    let size = body.size_hint().upper();
    let is_small = size.is_some_and(|size| size <= MAX_GUEST_BODY as u64);
    let body = match is_guest && is_form && is_small {
        true => body.collect().await.map(|it| Body::from(it.to_bytes())),
        false => Ok(body),
    };
    match body {
        Ok(body) => next.run(Request::from_parts(parts, body)).await,
        Err(_) => PageError::Malformed.into_response(),
    }
}

/// Counts the bytes that are kept of a form with a large file. The file is stored while it arrives.
pub async fn keep(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if request.extensions().get::<Arc<Kept>>().is_none() {
        return next.run(request).await;
    }
    let (parts, mut body) = request.into_parts();
    let party = match party(&app, &parts).await {
        Ok(party) => party,
        Err(error) => return PageError::from(error).into_response(),
    };
    let is_guest = matches!(party, Party::Network(_));
    let lost = CancellationToken::new();
    if let Some(place) = app.limits.bodies.take(party, &lost) {
        body = copied(&parts, body, &Arc::new(place), &lost);
    }
    pass_on(parts, body, is_guest, next).await
}

/// The party from which a request comes.
async fn party(app: &App, parts: &Parts) -> Result<Party, DbError> {
    let now = Time::now();
    let user = if is_of_program(&parts.uri) {
        let grant = match caller::bearer(&parts.headers) {
            Some(token) => api_token::grant(&app.db, token.digest(), now).await?,
            None => None,
        };
        grant.map(|(user, _)| user)
    } else {
        match cookie_token(app, &parts.headers, session::NAME) {
            Some(token) => sessions::user(&app.db, token.digest(), now).await?,
            None => None,
        }
    };
    let address = parts.extensions.get::<IpAddr>().copied();
    let address = address.unwrap_or(Ipv4Addr::UNSPECIFIED.into());
    Ok(match user {
        Some(user) => Party::User(user.id),
        None => Party::Network(customer(address)),
    })
}

/// Reads and drops a body that is too large for its sender, so that the sender receives the answer
/// although it sends everything first.
async fn discard(body: Body) {
    let mut body = Limited::new(body, MAX_DISCARDED);
    while let Some(Ok(_)) = body.frame().await {}
}

/// Counts the bytes of bodies for their parties. If all bodies together are too large, the party
/// with the most bytes loses the body that began first.
pub async fn charge(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let is_program = is_of_program(request.uri());
    let (parts, body) = request.into_parts();
    let party = match party(&app, &parts).await {
        Ok(party) => party,
        Err(error) => return PageError::from(error).into_response(),
    };
    let is_guest = matches!(party, Party::Network(_));
    let left = match is_guest {
        true => MAX_GUEST_BODY,
        false => usize::MAX,
    };
    let least = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let lost = CancellationToken::new();
    let place = app.limits.bodies.take(party, &lost).map(Arc::new);
    let refused = match place {
        _ if least > left => Some(Failure::Large),
        None => Some(Failure::Crowded),
        Some(_) => None,
    };
    let Some(place) = place.filter(|_| refused.is_none()) else {
        discard(body).await;
        return answer(refused, is_program, ().into_response());
    };
    let failure = Arc::new(OnceLock::new());
    let body = Body::new(Charged {
        body,
        place: place.clone(),
        lost: Box::pin(lost.clone().cancelled_owned()),
        left,
        failure: failure.clone(),
    });
    let body = copied(&parts, body, &place, &lost);
    let response = pass_on(parts, body, is_guest, next).await;
    // The handler has kept the body in memory until now, and a copy may be kept longer.
    drop(place);
    answer(failure.get().copied(), is_program, response)
}

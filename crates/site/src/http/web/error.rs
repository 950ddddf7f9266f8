//! Requests that were not carried out.
//!
//! A handler returns a [`PageError`]. This module turns it into a page in the language of the
//! request; `api/problem` turns it into a problem in English.

use super::frame;
use super::mistake::Mistake;
use super::refusal::Refusal;
use crate::blobs::BlobError;
use crate::core::account::AccountError;
use crate::core::lane::LaneError;
use crate::core::package::PackageError;
use crate::core::password::PasswordError;
use crate::core::roster::RosterError;
use crate::db::DbError;
use crate::http::MAX_PACKAGE;
use crate::judging::trial::TrialError;
use crate::limits::MAX_GUEST_BODY;
use crate::rankings::RankingError;
use crate::text::{Message, t};
use axum::body::Body;
use axum::extract::Extension;
use axum::extract::multipart::MultipartError;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, Response as HttpResponse, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinError;

/// The seconds after which a page may request its stream of events again.
pub const STREAM_RETRY: u64 = 30;
/// The seconds after which a request to an overloaded site may be sent again.
pub const BUSY_RETRY: u64 = 5;

/// Why a request was not carried out.
#[derive(Debug)]
pub enum PageError {
    /// There is no such page, or the viewer may not know of it.
    NotFound,
    /// The viewer must sign in first.
    SignIn,
    /// The viewer sees the page, but may not do this now.
    Refused(Refusal),
    /// The form comes from a page of a different site.
    Foreign,
    /// A field is invalid.
    Invalid(Mistake),
    /// The request cannot be read.
    Malformed,
    /// The viewer has tried too often.
    TooOften(Duration),
    /// The request arrives too slowly.
    TooSlow,
    /// The request is larger than those of guests may be.
    TooLarge,
    /// The request is larger than any may be.
    TooLong,
    /// The user or the network keeps too many streams of events open.
    TooManyStreams,
    /// Another request has changed the same things at the same time.
    Conflict,
    /// The site is overloaded.
    Busy(Overload),
    /// The site has failed.
    Internal(InternalError),
}

/// What too many users do at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overload {
    /// They sign in.
    SignIn,
    /// They try programs.
    Trials,
    /// They send large files.
    Uploads,
    /// They change the database.
    Changes,
    /// They open pages with long texts.
    Rendering,
    /// They send forms.
    Forms,
}

impl Overload {
    /// The advice for the visitor.
    pub fn detail(self) -> Box<dyn Message> {
        match self {
            Overload::SignIn => Box::new(t::ErrorBusySignIn),
            Overload::Trials => Box::new(t::ErrorBusyTrials),
            Overload::Uploads => Box::new(t::ErrorBusyUploads),
            Overload::Changes => Box::new(t::ErrorBusyChanges),
            Overload::Rendering => Box::new(t::ErrorBusyRendering),
            Overload::Forms => Box::new(t::ErrorBusyForms),
        }
    }
}

/// A failure of the site. The message is for its log.
#[derive(Debug, thiserror::Error)]
pub enum InternalError {
    /// The database.
    #[error(transparent)]
    Database(#[from] DbError),
    /// A file cannot be stored.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// A password can be neither hashed nor verified.
    #[error(transparent)]
    Password(PasswordError),
    /// A package cannot be stored.
    #[error(transparent)]
    Package(PackageError),
    /// A stored file cannot be read.
    #[error("cannot read the stored file {digest}: {error}")]
    File {
        /// The digest, which names the file.
        digest: String,
        /// The reason.
        error: std::io::Error,
    },
    /// The name of a stored file cannot be used in a header.
    #[error("the name of a file has a line end")]
    FileName,
    /// A stored protocol is malformed.
    #[error("the protocol of judgement {judgement}: {error}")]
    Protocol {
        /// The judgement.
        judgement: i64,
        /// The reason.
        error: serde_json::Error,
    },
    /// A program cannot be tried.
    #[error(transparent)]
    Trial(TrialError),
    /// The thread that renders a statement cannot be started.
    #[error("cannot start a thread: {0}")]
    Renderer(std::io::Error),
    /// A task panicked.
    #[error("a task has failed: {0}")]
    Task(#[from] JoinError),
    /// A handler panicked.
    #[error("a handler panicked")]
    Panic,
}

/// Marks an answer to a request that was not carried out, although its status is not an error.
#[derive(Debug, Clone, Copy)]
pub struct NotCarriedOut;

/// A page, or the reason for its absence.
pub type Page<T = Response> = Result<T, PageError>;

impl From<Refusal> for PageError {
    fn from(refusal: Refusal) -> PageError {
        PageError::Refused(refusal)
    }
}

impl From<Mistake> for PageError {
    fn from(mistake: Mistake) -> PageError {
        PageError::Invalid(mistake)
    }
}

impl From<InternalError> for PageError {
    fn from(error: InternalError) -> PageError {
        PageError::Internal(error)
    }
}

impl From<DbError> for PageError {
    fn from(error: DbError) -> PageError {
        if error.is_conflict() {
            tracing::info!(%error, "two requests changed the same things");
            return PageError::Conflict;
        }
        if let DbError::ZeroByte = error {
            let field = String::new();
            return Mistake::ZeroByte { field }.into();
        }
        if error.is_busy() {
            tracing::warn!(%error, "a request had no turn to use the database");
            return PageError::Busy(Overload::Changes);
        }
        InternalError::from(error).into()
    }
}

impl From<BlobError> for PageError {
    fn from(error: BlobError) -> PageError {
        InternalError::from(error).into()
    }
}

impl From<JoinError> for PageError {
    fn from(error: JoinError) -> PageError {
        InternalError::from(error).into()
    }
}

impl From<AccountError> for PageError {
    fn from(error: AccountError) -> PageError {
        Mistake::Account(error).into()
    }
}

impl From<RosterError> for PageError {
    fn from(error: RosterError) -> PageError {
        Mistake::Roster(error).into()
    }
}

impl From<MultipartError> for PageError {
    fn from(error: MultipartError) -> PageError {
        match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => PageError::TooLong,
            _ => Mistake::Form(error).into(),
        }
    }
}

impl From<PasswordError> for PageError {
    fn from(error: PasswordError) -> PageError {
        match error {
            PasswordError::Busy => PageError::Busy(Overload::SignIn),
            error => InternalError::Password(error).into(),
        }
    }
}

impl From<TrialError> for PageError {
    fn from(error: TrialError) -> PageError {
        match error {
            TrialError::Busy(_) => PageError::Busy(Overload::Trials),
            error => InternalError::Trial(error).into(),
        }
    }
}

impl From<RankingError> for PageError {
    fn from(error: RankingError) -> PageError {
        match error {
            RankingError::Database(error) => error.into(),
            RankingError::Lane(error) => error.into(),
        }
    }
}

impl From<LaneError> for PageError {
    fn from(error: LaneError) -> PageError {
        match error {
            LaneError::Full => PageError::Busy(Overload::Rendering),
            LaneError::Thread(error) => error.into(),
        }
    }
}

impl From<PackageError> for PageError {
    fn from(error: PackageError) -> PageError {
        match error {
            PackageError::Faults(faults) => Mistake::Package(faults).into(),
            PackageError::Foreign(error) => Mistake::Import(error).into(),
            error => InternalError::Package(error).into(),
        }
    }
}

/// A stored file cannot be read.
pub fn unreadable(digest: &str, error: std::io::Error) -> PageError {
    let digest = digest.to_owned();
    InternalError::File { digest, error }.into()
}

/// The seconds after which a user may try again.
pub fn retry_seconds(delay: Duration) -> u64 {
    delay.as_secs() + 1
}

/// What the viewer reads about a request that was not carried out.
#[derive(Debug)]
pub struct Explained<'e> {
    /// The title of a page about it.
    pub title: &'static dyn Message,
    /// The reason.
    pub detail: Box<dyn Message + 'e>,
    /// More lines, such as the errors of a package.
    pub lines: Vec<String>,
}

impl Explained<'_> {
    /// The page without its frame.
    pub fn page(&self) -> Markup {
        html! {
            h1 { (self.title) }
            p { (*self.detail) }
            @if !self.lines.is_empty() { pre tabindex="0" { "\n" (self.lines.join("\n")) } }
            p { a href="/" { (t::ErrorHome) } }
        }
    }

    /// The message at a form or a field.
    pub fn message(&self) -> Markup {
        html! {
            (*self.detail)
            @for line in &self.lines { br; code { (line) } }
        }
    }
}

impl PageError {
    /// The words for the viewer, in the language of the request.
    pub fn explain(&self) -> Explained<'_> {
        let (title, detail): (&'static dyn Message, Box<dyn Message + '_>) = match self {
            // A guest that must sign in is redirected.
            PageError::NotFound | PageError::SignIn => {
                (&t::ErrorNotFoundTitle, Box::new(t::ErrorNotFoundDetail))
            }
            PageError::Refused(why) => (&t::ErrorRefusedTitle, why.message()),
            PageError::Foreign => (&t::ErrorRefusedTitle, Box::new(t::ErrorForeign)),
            PageError::Invalid(why) => (&t::ErrorInvalidTitle, why.message()),
            PageError::Malformed => (&t::ErrorInvalidTitle, Box::new(t::ErrorMalformed)),
            PageError::TooOften(delay) => {
                let seconds = retry_seconds(*delay);
                (
                    &t::ErrorTooOftenTitle,
                    Box::new(t::ErrorTooOftenDetail { seconds }),
                )
            }
            PageError::TooSlow => (&t::ErrorTooSlowTitle, Box::new(t::ErrorTooSlowDetail)),
            PageError::TooLarge => {
                let kib = MAX_GUEST_BODY >> 10;
                (
                    &t::ErrorTooLargeTitle,
                    Box::new(t::ErrorTooLargeDetail { kib }),
                )
            }
            PageError::TooLong => (
                &t::ErrorTooLargeTitle,
                Box::new(t::ErrorTooLong {
                    mib: MAX_PACKAGE >> 20,
                }),
            ),
            PageError::TooManyStreams => (
                &t::ErrorTooManyStreamsTitle,
                Box::new(t::ErrorTooManyStreamsDetail),
            ),
            PageError::Conflict => (&t::ErrorConflictTitle, Box::new(t::ErrorConflictDetail)),
            PageError::Busy(rush) => (&t::ErrorBusyTitle, rush.detail()),
            PageError::Internal(_) => (&t::ErrorInternalTitle, Box::new(t::ErrorInternalDetail)),
        };
        let lines = match self {
            PageError::Invalid(why) => why.lines(),
            _ => Vec::new(),
        };
        Explained {
            title,
            detail,
            lines,
        }
    }

    /// Whether the field of a form with this value may have the mistake.
    pub fn concerns(&self, field: &str, value: &str) -> bool {
        match self {
            PageError::Invalid(why) => why.concerns(field, value),
            PageError::TooLong => field == "file",
            _ => false,
        }
    }

    /// The field of a form that shows its current value from now on.
    pub fn renewed(&self) -> Option<&'static str> {
        match self {
            PageError::Invalid(why) => why.renewed(),
            _ => None,
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            PageError::SignIn => StatusCode::SEE_OTHER,
            PageError::NotFound => StatusCode::NOT_FOUND,
            PageError::Refused(_) | PageError::Foreign => StatusCode::FORBIDDEN,
            PageError::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            PageError::Malformed => StatusCode::BAD_REQUEST,
            PageError::TooSlow => StatusCode::REQUEST_TIMEOUT,
            PageError::TooLarge | PageError::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            PageError::TooOften(_) | PageError::TooManyStreams => StatusCode::TOO_MANY_REQUESTS,
            PageError::Conflict => StatusCode::CONFLICT,
            PageError::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
            PageError::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The seconds after which the request may be sent again.
    fn retry(&self) -> Option<u64> {
        match self {
            PageError::TooOften(delay) => Some(retry_seconds(*delay)),
            PageError::TooManyStreams => Some(STREAM_RETRY),
            PageError::Busy(_) => Some(BUSY_RETRY),
            _ => None,
        }
    }
}

/// A page without a session. For browsers, the layer `again` replaces it by a page with the form or
/// with the navigation.
impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        if let PageError::SignIn = self {
            return (Extension(NotCarriedOut), Redirect::to("/sign-in")).into_response();
        }
        if let PageError::Internal(error) = &self {
            tracing::error!(%error, "a request failed");
        }
        let explained = self.explain();
        let page = frame::bare(explained.title, explained.page());
        let mut response = (self.status(), page).into_response();
        if let Some(seconds) = self.retry() {
            let headers = response.headers_mut();
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        drop(explained);
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

/// A path without a page.
pub async fn not_found() -> PageError {
    PageError::NotFound
}

/// Answers a request whose handler panicked.
pub fn panicked(_: Box<dyn Any + Send + 'static>) -> HttpResponse<Body> {
    PageError::from(InternalError::Panic).into_response()
}

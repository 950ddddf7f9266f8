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
use maud::html;
use std::any::Any;
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
    /// A field is invalid.
    Invalid(Mistake),
    /// The viewer has tried too often.
    TooOften(Duration),
    /// The request arrives too slowly.
    TooSlow,
    /// The request is larger than those of guests may be.
    TooLarge,
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
    pub fn detail(self) -> &'static dyn Message {
        match self {
            Overload::SignIn => &t::ErrorBusySignIn,
            Overload::Trials => &t::ErrorBusyTrials,
            Overload::Uploads => &t::ErrorBusyUploads,
            Overload::Changes => &t::ErrorBusyChanges,
            Overload::Rendering => &t::ErrorBusyRendering,
            Overload::Forms => &t::ErrorBusyForms,
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
        Mistake::Form(error).into()
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

fn explain(
    status: StatusCode,
    title: &dyn Message,
    detail: &dyn Message,
    lines: &[String],
) -> Response {
    let body = html! {
        h1 { (title) }
        p { (detail) }
        @if !lines.is_empty() { pre tabindex="0" { "\n" (lines.join("\n")) } }
        p { a href="/" { (t::ErrorHome) } }
    };
    (status, frame::bare(title, body)).into_response()
}

fn retry_later(seconds: u64, mut answer: Response) -> Response {
    let headers = answer.headers_mut();
    headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    answer
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        match self {
            PageError::NotFound => explain(
                StatusCode::NOT_FOUND,
                &t::ErrorNotFoundTitle,
                &t::ErrorNotFoundDetail,
                &[],
            ),
            PageError::SignIn => {
                (Extension(NotCarriedOut), Redirect::to("/sign-in")).into_response()
            }
            PageError::Refused(why) => explain(
                StatusCode::FORBIDDEN,
                &t::ErrorRefusedTitle,
                &*why.message(),
                &[],
            ),
            PageError::Invalid(why) => explain(
                StatusCode::UNPROCESSABLE_ENTITY,
                &t::ErrorInvalidTitle,
                &*why.message(),
                &why.lines(),
            ),
            PageError::TooOften(delay) => {
                let seconds = retry_seconds(delay);
                retry_later(
                    seconds,
                    explain(
                        StatusCode::TOO_MANY_REQUESTS,
                        &t::ErrorTooOftenTitle,
                        &t::ErrorTooOftenDetail { seconds },
                        &[],
                    ),
                )
            }
            PageError::TooSlow => explain(
                StatusCode::REQUEST_TIMEOUT,
                &t::ErrorTooSlowTitle,
                &t::ErrorTooSlowDetail,
                &[],
            ),
            PageError::TooLarge => explain(
                StatusCode::PAYLOAD_TOO_LARGE,
                &t::ErrorTooLargeTitle,
                &t::ErrorTooLargeDetail {
                    kib: MAX_GUEST_BODY >> 10,
                },
                &[],
            ),
            PageError::Conflict => explain(
                StatusCode::CONFLICT,
                &t::ErrorConflictTitle,
                &t::ErrorConflictDetail,
                &[],
            ),
            PageError::TooManyStreams => retry_later(
                STREAM_RETRY,
                explain(
                    StatusCode::TOO_MANY_REQUESTS,
                    &t::ErrorTooManyStreamsTitle,
                    &t::ErrorTooManyStreamsDetail,
                    &[],
                ),
            ),
            PageError::Busy(rush) => retry_later(
                BUSY_RETRY,
                explain(
                    StatusCode::SERVICE_UNAVAILABLE,
                    &t::ErrorBusyTitle,
                    rush.detail(),
                    &[],
                ),
            ),
            PageError::Internal(error) => {
                tracing::error!(%error, "a request failed");
                explain(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    &t::ErrorInternalTitle,
                    &t::ErrorInternalDetail,
                    &[],
                )
            }
        }
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

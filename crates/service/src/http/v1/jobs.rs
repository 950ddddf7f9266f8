//! The common part of runs and judgings: preferences of the client, waiting, state and cancelling.

use super::V1;
use super::auth::Authenticated;
use super::model::RunState;
use crate::core::access::{Owned, Verb, may};
use crate::core::program::{Event, ProgramRun};
use crate::core::queue::ClientId;
use crate::core::registry::{self, Begun, JobKind, Key, Phase, Registry};
use crate::core::share::Claim;
use crate::http::headers::RunHeaders;
use crate::http::problem::{self, ProblemDetails};
use crate::service::Service;
use crate::tokens::Client;
use axum::body::Bytes;
use axum::http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// The longest idempotency key, in bytes.
const MAX_KEY_BYTES: usize = 255;
/// Number of bytes that an event occupies in the log in addition to its content.
const EVENT_OVERHEAD_BYTES: usize = 64;
/// How long a request that cancels a job waits for its end.
const CANCEL_PATIENCE: Duration = Duration::from_secs(5);
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const PREFER: HeaderName = HeaderName::from_static("prefer");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// All jobs of the service.
pub type Jobs = Registry<Answer, LogEvent>;
/// A run or a judging.
pub type Job = registry::Job<Answer, LogEvent>;

/// The answer of a job.
#[derive(Debug, Clone)]
pub enum Answer {
    /// The document of a job that has ended, as JSON.
    Document(Bytes),
    /// The job has no results.
    Problem(ProblemDetails),
}

/// The document that describes a job of one kind.
pub trait JobDocument: Serialize {
    /// The kind of job.
    const KIND: JobKind;

    /// The document of a job that has not ended, or that ended with an error.
    fn without_results(
        id: String,
        state: RunState,
        label: Option<String>,
        age: Duration,
        error: Option<ProblemDetails>,
    ) -> Self;
}

/// An event in the log of a job.
#[derive(Debug, Clone)]
pub enum LogEvent {
    /// An event with its description in JSON.
    Document {
        name: &'static str,
        /// The description.
        data: String,
    },
    /// A piece of output.
    Output {
        /// The index of the test.
        test: usize,
        /// 1 for standard output, 2 for standard error.
        stream: u8,
        bytes: Bytes,
    },
}

/// A program connected to the logs of its job.
pub trait JobLog {
    /// Adds an event with its description.
    fn log_document(&self, name: &'static str, data: &impl Serialize);
    /// Adds a piece of output.
    fn log_output(&self, test: usize, stream: u8, bytes: Bytes);
}

impl JobLog for Job {
    fn log_document(&self, name: &'static str, data: &impl Serialize) {
        let data = serde_json::to_string(data).unwrap_or_default();
        let bytes = data.len() + EVENT_OVERHEAD_BYTES;
        self.log(LogEvent::Document { name, data }, bytes);
    }

    fn log_output(&self, test: usize, stream: u8, bytes: Bytes) {
        let length = bytes.len() + EVENT_OVERHEAD_BYTES;
        let event = LogEvent::Output {
            test,
            stream,
            bytes,
        };
        self.log(event, length);
    }
}

/// How long the client wants to wait for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// `None` means until the job has ended.
    pub limit: Option<Duration>,
    /// The preference that was taken from the header `Prefer`.
    applied: Option<Applied>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Applied {
    Wait(u64),
    RespondAsync,
}

impl Waiting {
    /// Reads the header `Prefer` (RFC 7240). `wait_ms` of the request takes precedence.
    pub fn new(headers: &HeaderMap, wait_ms: Option<u64>) -> Waiting {
        let preferences = headers
            .get_all(PREFER)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split([',', ';']))
            .map(str::trim);
        let (mut wait, mut is_asynchronous) = (None, false);
        for preference in preferences {
            if preference.eq_ignore_ascii_case("respond-async") {
                is_asynchronous = true;
            }
            if let Some((name, seconds)) = preference.split_once('=')
                && name.trim().eq_ignore_ascii_case("wait")
            {
                wait = seconds.trim().trim_matches('"').parse::<u64>().ok();
            }
        }
        match (wait_ms, wait, is_asynchronous) {
            (Some(milliseconds), _, _) => Waiting {
                limit: Some(Duration::from_millis(milliseconds)),
                applied: None,
            },
            (None, Some(seconds), _) => Waiting {
                limit: Some(Duration::from_secs(seconds)),
                applied: Some(Applied::Wait(seconds)),
            },
            (None, None, true) => Waiting {
                limit: Some(Duration::ZERO),
                applied: Some(Applied::RespondAsync),
            },
            (None, None, false) => Waiting {
                limit: None,
                applied: None,
            },
        }
    }
}

/// The idempotency key of a request.
///
/// # Errors
/// It is empty, too long or not text.
pub fn idempotency_key(
    headers: &HeaderMap,
    client: &Client,
    kind: JobKind,
) -> Result<Option<Key>, ProblemDetails> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(key) if (1..=MAX_KEY_BYTES).contains(&key.len()) => Ok(Some(Key {
            client: client.id,
            kind,
            key: key.to_owned(),
        })),
        _ => Err(problem::malformed(format!(
            "Idempotency-Key: a key has 1 to {MAX_KEY_BYTES} visible ASCII characters"
        ))),
    }
}

/// Begins a job, or joins the one that an earlier request with the same key began.
///
/// # Errors
/// The key belongs to another request.
pub fn begin(
    jobs: &Jobs,
    client: &Client,
    kind: JobKind,
    label: Option<String>,
    keyed: Option<(Key, &[u8])>,
) -> Result<Begun<Answer, LogEvent>, ProblemDetails> {
    let begun = match keyed {
        None => Begun::New(jobs.begin(client.id, kind, label)),
        Some((key, body)) => {
            let digest = Sha256::digest(body).into();
            let begun = jobs.begin_keyed(key, digest, label);
            begun.map_err(|conflict| {
                problem::new(
                    StatusCode::CONFLICT,
                    "key_reused",
                    "The idempotency key belongs to another request",
                    conflict,
                )
            })?
        }
    };
    if let Begun::New(job) = &begun {
        job.log_document("queued", &json!({ "id": job.id, "label": job.label }));
    }
    Ok(begun)
}

/// Ends the job with an error if its task ends without an answer, such as after a panic.
pub struct Ending {
    jobs: Jobs,
    job: Arc<Job>,
}

impl Ending {
    /// The guard of a job.
    pub fn new(jobs: &Jobs, job: Arc<Job>) -> Ending {
        Ending {
            jobs: jobs.clone(),
            job,
        }
    }

    /// Ends the job.
    pub fn end(self, answer: Result<Bytes, ProblemDetails>) {
        match answer {
            Ok(document) => {
                let state = json!({ "id": self.job.id, "state": "ended" });
                self.job.log_document("ended", &state);
                let bytes = document.len();
                self.jobs.end(&self.job, Answer::Document(document), bytes);
            }
            Err(problem) => self.fail(problem),
        }
    }

    fn fail(&self, problem: ProblemDetails) {
        // Nothing ran, or a retry may succeed, so the key must not keep this answer.
        if problem.status >= 429 {
            self.jobs.release_key(&self.job);
        }
        let state = json!({ "id": self.job.id, "state": "ended", "error": problem });
        self.job.log_document("ended", &state);
        let bytes = problem.detail.len() + EVENT_OVERHEAD_BYTES;
        self.jobs.end(&self.job, Answer::Problem(problem), bytes);
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if self.job.phase() != Phase::Ended {
            self.fail(problem::internal("the service failed during the run"));
        }
    }
}

/// Runs a program as a job, and logs its events.
pub async fn run(
    service: &Service,
    job: &Job,
    interface: &str,
    mut run: ProgramRun,
    attachment: Option<crate::core::program::Attachment>,
) -> Result<crate::core::program::ProgramReport, ProblemDetails> {
    let (sender, mut events) = mpsc::channel(16);
    run.observer = Some(sender);
    let ids: Vec<String> = run.tests.iter().map(|test| test.id.clone()).collect();
    let running = async {
        tokio::select! {
            result = service.run_attached(interface, run, attachment) => {
                result.map_err(ProblemDetails::from)
            }
            () = job.cancelled() => Err(problem::cancelled()),
        }
    };
    let logging = async {
        while let Some(event) = events.recv().await {
            log_event(job, &ids, event);
        }
    };
    tokio::join!(running, logging).0
}

fn log_event(job: &Job, ids: &[String], event: Event) {
    let id = |index: usize| ids.get(index).map(String::as_str).unwrap_or_default();
    match event {
        Event::Started { queued } => {
            job.start();
            let queued_ms = super::model::milliseconds(queued);
            job.log_document("started", &json!({ "queued_ms": queued_ms }));
        }
        Event::Compiled(compiled) => {
            job.log_document("compiled", &super::model::CompileAnswer::new(&compiled));
        }
        Event::TestStarted { index } => {
            job.log_document("test_started", &json!({ "test": index, "id": id(index) }));
        }
        Event::Output {
            test,
            stream,
            bytes,
        } => job.log_output(test, stream, bytes),
        Event::TestEnded { index, report } => {
            let answer = super::model::TestAnswer::new(&report, super::model::OutputForm::Discard);
            // Earlier events have already reported the output.
            job.log_document(
                "test",
                &json!({
                    "test": index,
                    "id": answer.id,
                    "outcome": answer.outcome,
                    "blame": answer.blame,
                    "passed": answer.passed,
                    "exit_code": answer.exit_code,
                    "signal": answer.signal,
                    "cpu_ms": answer.cpu_ms,
                    "wall_ms": answer.wall_ms,
                    "memory_bytes": answer.memory_bytes,
                    "error": answer.error,
                }),
            );
        }
    }
}

/// Cancels the job when the client disconnects while it waits.
struct CancelOnLeave<'a>(Option<&'a Job>);

impl Drop for CancelOnLeave<'_> {
    fn drop(&mut self) {
        if let Some(job) = self.0 {
            job.cancel();
        }
    }
}

/// Waits for a job as long as the client wants, and answers the request that began it.
///
/// If the client disconnects in the meantime and has no key for a repeated request, no other
/// request can find the job, so it is cancelled.
pub async fn respond<D: JobDocument>(
    jobs: &Jobs,
    job: &Job,
    waiting: Waiting,
    has_key: bool,
) -> Response {
    let mut leaving = CancelOnLeave((!has_key).then_some(job));
    let answer = match waiting.limit {
        None => Some(job.ended().await),
        Some(limit) => tokio::time::timeout(limit, job.ended()).await.ok(),
    };
    leaving.0 = None;
    let mut response = match answer {
        Some(Answer::Document(document)) => {
            jobs.mark_received(job);
            json_response(document)
        }
        Some(Answer::Problem(problem)) => problem.into_response(),
        None => {
            let mut response = (StatusCode::ACCEPTED, state_response::<D>(job)).into_response();
            let headers = response.headers_mut();
            if let Ok(location) = HeaderValue::from_str(&location(job)) {
                headers.insert(LOCATION, location);
            }
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            response
        }
    };
    let applied = match waiting.applied {
        Some(Applied::Wait(seconds)) => HeaderValue::from_str(&format!("wait={seconds}")).ok(),
        Some(Applied::RespondAsync) => Some(HeaderValue::from_static("respond-async")),
        None => None,
    };
    if let Some(applied) = applied {
        response.headers_mut().insert(PREFERENCE_APPLIED, applied);
    }
    let headers = RunHeaders {
        id: Some(&job.id),
        ..RunHeaders::default()
    };
    headers.add_to(response.headers_mut());
    response
}

fn location(job: &Job) -> String {
    match job.kind {
        JobKind::Run => format!("/v1/runs/{}", job.id),
        JobKind::Judging => format!("/v1/judgings/{}", job.id),
    }
}

/// The name of a phase in answers.
pub fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Queued => "queued",
        Phase::Running => "running",
        Phase::Ended => "ended",
    }
}

/// A response with a document that is already JSON.
pub fn json_response(document: Bytes) -> Response {
    let kind = HeaderValue::from_static("application/json");
    ([(CONTENT_TYPE, kind)], document).into_response()
}

/// The state of a job, with its results if it has ended.
pub fn state_response<D: JobDocument>(job: &Job) -> Response {
    let (state, error) = match job.answer() {
        Some(Answer::Document(document)) => return json_response(document),
        Some(Answer::Problem(problem)) => (RunState::Ended, Some(problem)),
        None if job.phase() == Phase::Queued => (RunState::Queued, None),
        None => (RunState::Running, None),
    };
    let (id, label, age) = (job.id.clone(), job.label.clone(), job.created.elapsed());
    axum::Json(D::without_results(id, state, label, age, error)).into_response()
}

/// A job of the client.
///
/// # Errors
/// No such job is known, or it belongs to another client.
pub fn find<D: JobDocument>(
    v1: &V1,
    Authenticated(client): &Authenticated,
    verb: Verb,
    id: &str,
) -> Result<Arc<Job>, ProblemDetails> {
    v1.jobs
        .job(id)
        .filter(|job| job.kind == D::KIND && may(client, verb, Owned::by(job.client, client)))
        .ok_or_else(|| {
            problem::not_found(format!(
                "no job {id} is known; results are kept for {} s",
                v1.service.config.results.keep_s
            ))
        })
}

/// A place for a connection that stays open.
///
/// # Errors
/// The client has used up its share of them.
pub fn stream(service: &Service, client: &Client) -> Result<Claim<ClientId>, ProblemDetails> {
    service
        .streams
        .take(client.id, 1)
        .ok_or_else(|| problem::share_used("this client has its maximum number of open streams"))
}

/// Shows a job of the client.
///
/// # Errors
/// The errors of [`find`].
pub fn show<D: JobDocument>(
    v1: &V1,
    client: &Authenticated,
    id: &str,
) -> Result<Response, ProblemDetails> {
    let job = find::<D>(v1, client, Verb::Read, id)?;
    Ok(state_response::<D>(&job))
}

/// Cancels a job of the client, and waits a while for its end.
///
/// # Errors
/// The errors of [`find`].
pub async fn cancel<D: JobDocument>(
    v1: &V1,
    client: &Authenticated,
    id: &str,
) -> Result<StatusCode, ProblemDetails> {
    let job = find::<D>(v1, client, Verb::Change, id)?;
    job.cancel();
    // The status 204 states that the job has ended, so the response waits for the end, but within
    // a bound.
    let _ = tokio::time::timeout(CANCEL_PATIENCE, job.ended()).await;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(prefer: &[&str], wait_ms: Option<u64>) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        for value in prefer {
            headers.append(PREFER, value.parse().unwrap());
        }
        Waiting::new(&headers, wait_ms).limit
    }

    #[test]
    fn preferences_are_read_as_in_rfc_7240() {
        assert_eq!(waiting(&[], None), None);
        assert_eq!(waiting(&["respond-async"], None), Some(Duration::ZERO));
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(waiting(&["respond-async, wait=10"], None), seconds(10));
        assert_eq!(
            waiting(&["handling=lenient", "Wait = \"3\""], None),
            seconds(3)
        );
        assert_eq!(waiting(&["wait=x"], None), None);
        let milliseconds = Some(Duration::from_millis(5));
        assert_eq!(waiting(&["wait=10"], Some(5)), milliseconds);
    }
}

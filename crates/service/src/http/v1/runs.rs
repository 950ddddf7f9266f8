//! Running one program on one or several inputs.

use super::V1;
use super::attach;
use super::auth::{Authenticated, INTERFACE};
use super::body::RequestBody;
use super::jobs::{self, Answer, Ending, Job, JobDocument, Jobs, Waiting};
use super::model::{OutputForm, RunAnswer, RunRequest, RunState, Timing, milliseconds};
pub use super::request::program_run;
use crate::core::program::{Attachment, ProgramReport, ProgramRun, ProgramSource};
use crate::core::registry::{Begun, JobKind};
use crate::http::headers::RunHeaders;
use crate::http::held::hold;
use crate::http::problem::{self, ProblemDetails};
use crate::metrics::outcome_name;
use crate::service::Service;
use crate::tokens::Client;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use std::sync::Arc;
use std::time::Duration;

/// A new id of a run.
pub fn new_id() -> String {
    crate::core::registry::new_id(JobKind::Run)
}

/// A run that was checked, and how its answer is rendered.
pub struct Prepared {
    pub run: ProgramRun,
    form: OutputForm,
    label: Option<String>,
    runtime: Option<String>,
}

impl Prepared {
    /// Checks a request.
    ///
    /// # Errors
    /// The request cannot be carried out.
    pub fn new(
        service: &Service,
        client: &Client,
        request: RunRequest,
        size_bytes: usize,
    ) -> Result<Prepared, ProblemDetails> {
        let (form, label) = (request.stdout, request.label.clone());
        let run = program_run(service, client, request, size_bytes)?;
        let runtime = match &run.source {
            ProgramSource::Sources { runtime, .. } => Some(runtime.name.clone()),
            ProgramSource::Command(_) | ProgramSource::Program(_) => None,
        };
        Ok(Prepared {
            run,
            form,
            label,
            runtime,
        })
    }
}

impl JobDocument for RunAnswer {
    const KIND: JobKind = JobKind::Run;

    fn without_results(
        id: String,
        state: RunState,
        label: Option<String>,
        age: Duration,
        error: Option<ProblemDetails>,
    ) -> RunAnswer {
        RunAnswer {
            id,
            state,
            label,
            compile: None,
            tests: Vec::new(),
            timing: Timing {
                queued_ms: 0.0,
                setup_ms: 0.0,
                total_ms: milliseconds(age),
            },
            attempts: 1,
            runtime: None,
            error,
        }
    }
}

/// The form in which an answer is rendered.
pub struct Rendering {
    form: OutputForm,
    label: Option<String>,
    runtime: Option<String>,
}

impl Prepared {
    /// The run, and how its answer is rendered.
    pub fn split(self) -> (ProgramRun, Rendering) {
        let Prepared {
            run,
            form,
            label,
            runtime,
        } = self;
        let rendering = Rendering {
            form,
            label,
            runtime,
        };
        (run, rendering)
    }
}

impl Rendering {
    /// The answer of a run.
    pub fn answer(self, id: String, report: &ProgramReport) -> RunAnswer {
        RunAnswer::ended(id, self.label, self.runtime, report, self.form)
    }

    fn document(self, id: String, report: &ProgramReport) -> Result<Bytes, ProblemDetails> {
        let answer = self.answer(id, report);
        // The answer may be kept for a while, so it must not have spare capacity.
        serde_json::to_vec(&answer)
            .map(|document| Bytes::from(document.into_boxed_slice()))
            .map_err(problem::internal)
    }
}

/// Run a program
///
/// Compiles the program once and runs it on all tests. The answer is sent when the run has ended,
/// or after `wait_ms` (or `Prefer: wait=SECONDS`) as 202 with the address of the run. If the client
/// closes the connection before that, the run is cancelled, unless the request has the header
/// `Idempotency-Key`. A request with the same key and body joins the run of the first request.
#[utoipa::path(
    post,
    path = "/runs",
    operation_id = "create_run",
    tag = "runs",
    params(
        ("Prefer" = Option<String>, Header, description = "`wait=SECONDS` or `respond-async`"),
        (
            "Idempotency-Key" = Option<String>,
            Header,
            description = "Identifies the request if it is repeated"
        ),
    ),
    request_body = RunRequest,
    responses(
        (status = 200, description = "The run has ended", body = RunAnswer),
        (
            status = 202,
            description = "The run continues; `Location` is its address",
            body = RunAnswer
        ),
        (
            status = "4XX",
            description = "The request cannot be carried out",
            body = ProblemDetails,
            content_type = "application/problem+json"
        ),
        (
            status = "5XX",
            description = "The service is overloaded or has failed; a retry may succeed",
            body = ProblemDetails,
            content_type = "application/problem+json"
        ),
    ),
)]
pub async fn create(
    State(v1): State<Arc<V1>>,
    Authenticated(client): Authenticated,
    headers: HeaderMap,
    RequestBody(body): RequestBody,
) -> Result<Response, ProblemDetails> {
    let request: RunRequest = serde_json::from_slice(&body).map_err(problem::malformed)?;
    let waiting = Waiting::new(&headers, request.wait_ms);
    let key = jobs::idempotency_key(&headers, &client, JobKind::Run)?;
    let (is_interactive, has_terminal) = (request.interactive, request.terminal);
    if (is_interactive || has_terminal) && waiting.limit.is_none() {
        return Err(problem::impossible(
            "interactive",
            "an interactive run needs wait_ms or the header Prefer, so that its id is known",
        ));
    }
    let prepared = Prepared::new(&v1.service, &client, request, body.len())?;
    if waiting.limit.is_none() && key.is_none() {
        return run_at_once(&v1, &client, prepared).await;
    }
    let has_key = key.is_some();
    let keyed = key.map(|key| (key, &body[..]));
    let label = prepared.label.clone();
    let job = match jobs::begin(&v1.jobs, &client, JobKind::Run, label, keyed)? {
        Begun::Joined(job) => job,
        Begun::New(job) => {
            let ending = Ending::new(&v1.jobs, job.clone());
            let attached = match (is_interactive, has_terminal) {
                (false, false) => None,
                _ => Some(attach::open(&v1, &job, has_terminal)?),
            };
            tokio::spawn(run_job(
                v1.service.clone(),
                job.clone(),
                ending,
                prepared,
                attached,
            ));
            job
        }
    };
    Ok(jobs::respond::<RunAnswer>(&v1.jobs, &job, waiting, has_key).await)
}

/// Runs a program for a client that waits for its end. Dropping this future cancels the run.
async fn run_at_once(
    v1: &V1,
    client: &Client,
    prepared: Prepared,
) -> Result<Response, ProblemDetails> {
    let label = prepared.label.clone();
    let job = v1.jobs.begin(client.id, JobKind::Run, label);
    let forgetting = Forgetting::new(&v1.jobs, &job);
    let (run, rendering) = prepared.split();
    let report = v1.service.run(INTERFACE, run).await?;
    let document = rendering.document(job.id.clone(), &report)?;
    forgetting.keep(&document);
    let response = jobs::json_response(document);
    let mut response = hold(response, report.held.clone());
    let only = match &report.tests[..] {
        [test] => test.report.as_ref(),
        _ => None,
    };
    let headers = RunHeaders {
        id: Some(&job.id),
        outcome: only.map(|report| outcome_name(&report.outcome)),
        queued: Some(report.queued),
    };
    headers.add_to(response.headers_mut());
    Ok(response)
}

/// Removes a job that has no answer, because its client has disconnected or the job has failed.
pub(super) struct Forgetting<'a> {
    jobs: &'a Jobs,
    job: Option<&'a Job>,
}

impl<'a> Forgetting<'a> {
    /// The guard of a job.
    pub(super) fn new(jobs: &'a Jobs, job: &'a Job) -> Forgetting<'a> {
        Forgetting {
            jobs,
            job: Some(job),
        }
    }

    /// Keeps the job with its answer, which the client receives at once.
    pub(super) fn keep(mut self, document: &Bytes) {
        if let Some(job) = self.job.take() {
            let answer = Answer::Document(document.clone());
            self.jobs.end(job, answer, document.len());
            self.jobs.mark_received(job);
        }
    }
}

impl Drop for Forgetting<'_> {
    fn drop(&mut self) {
        if let Some(job) = self.job {
            self.jobs.forget(job);
        }
    }
}

/// Carries out a job.
async fn run_job(
    service: Arc<Service>,
    job: Arc<Job>,
    ending: Ending,
    prepared: Prepared,
    attached: Option<(Attachment, attach::Closing)>,
) {
    let (run, rendering) = prepared.split();
    let max_output = run.stdout.max_bytes;
    let (attachment, closing) = attached.unzip();
    let running = jobs::run(&service, &job, INTERFACE, run, attachment);
    let result = match closing {
        None => running.await,
        Some(closing) => closing.collect(running, &job, max_output).await,
    };
    let document = result.and_then(|report| rendering.document(job.id.clone(), &report));
    ending.end(document);
}

/// State and results of a run
#[utoipa::path(
    get,
    path = "/runs/{id}",
    operation_id = "run_state",
    tag = "runs",
    params(("id" = String, Path, description = "The id of the run")),
    responses(
        (
            status = 200,
            description = "The state, with results if the run has ended",
            body = RunAnswer
        ),
        (
            status = 404,
            description = "This client has no such run",
            body = ProblemDetails,
            content_type = "application/problem+json"
        ),
    ),
)]
pub async fn state(
    State(v1): State<Arc<V1>>,
    client: Authenticated,
    Path(id): Path<String>,
) -> Result<Response, ProblemDetails> {
    jobs::show::<RunAnswer>(&v1, &client, &id)
}

/// Cancel a run
///
/// A run that has ended is not changed.
#[utoipa::path(
    delete,
    path = "/runs/{id}",
    operation_id = "cancel_run",
    tag = "runs",
    params(("id" = String, Path, description = "The id of the run")),
    responses(
        (status = 204, description = "The run has ended"),
        (
            status = 404,
            description = "This client has no such run",
            body = ProblemDetails,
            content_type = "application/problem+json"
        ),
    ),
)]
pub async fn cancel(
    State(v1): State<Arc<V1>>,
    client: Authenticated,
    Path(id): Path<String>,
) -> Result<StatusCode, ProblemDetails> {
    jobs::cancel::<RunAnswer>(&v1, &client, &id).await
}

//! Judging a submission to a problem package.

use super::V1;
use super::auth::{Authenticated, INTERFACE};
use super::body::RequestBody;
use super::jobs::{self, Ending, Job, JobDocument, JobLog, Waiting};
use super::model::{BlameName, Blob, RunState, Timing, milliseconds};
use super::request::{self, Files};
use crate::core::judging::{self, Event, Judgement, Judging, JudgingError};
use crate::core::program::Source;
use crate::core::registry::{Begun, JobKind};
use crate::http::bodies::{MAX_FORM_FIELDS, Media};
use crate::http::problem::{self, ProblemDetails};
use crate::service::Service;
use axum::body::Bytes;
use axum::extract::{FromRequest, Multipart, Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use millibox::Figures;
use millibox_judge::report::{SubmissionReport, TestReport};
use millibox_judge::verdict::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use utoipa::ToSchema;

/// A submission and its problem.
#[derive(Debug, Clone, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgingRequest {
    /// The problem package: a zip archive in Base64, or the SHA-256 of a stored one.
    pub package: Blob,
    /// The sources of the submission by path.
    pub submission: BTreeMap<String, Blob>,
    /// The language of the submission. By default, the file extensions decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Whether judging stops at the first test that is not accepted.
    #[serde(default)]
    pub fail_fast: bool,
    /// How long the judging may wait in the queue, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_ms: Option<u64>,
    /// How long the answer to the request may take, in milliseconds; see the request of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// Returned unchanged; at most 256 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// The same request as a form, with the same values as in JSON.
#[derive(Debug, ToSchema)]
#[expect(
    dead_code,
    reason = "only its description is used, because forms are read field by field"
)]
pub struct JudgingForm {
    /// The problem package, a zip archive.
    #[schema(value_type = Option<String>, format = Binary)]
    pub package: Option<Vec<u8>>,
    /// The SHA-256 of a stored package, in place of `package`.
    pub package_sha256: Option<String>,
    /// The sources, each with its file name.
    #[schema(value_type = Vec<String>, format = Binary)]
    pub submission: Vec<Vec<u8>>,
    /// The language of the submission.
    pub language: Option<String>,
    /// `true` or `false`.
    pub fail_fast: Option<bool>,
    /// How long the judging may wait in the queue, in milliseconds.
    pub queue_ms: Option<u64>,
    /// How long the answer to the request may take, in milliseconds.
    pub wait_ms: Option<u64>,
    /// Returned unchanged.
    pub label: Option<String>,
}

/// The result of a judging.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct JudgingAnswer {
    /// The id of the judging.
    pub id: String,
    /// `queued`, `running` or `ended`.
    pub state: RunState,
    /// The label of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The title of the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// `accepted`, `wrong_answer`, `output_limit`, `time_limit`, `memory_limit`, `run_time_error`,
    /// `compile_error` or `judge_error`; `null` if there is no verdict.
    pub verdict: Option<String>,
    /// The fault behind the verdict. Only `program` may count against the submission.
    pub blame: Option<BlameName>,
    /// The reason for the verdict in a few words.
    pub reason: String,
    /// The points, if the problem has points.
    pub score: Option<f64>,
    /// The maximum points.
    pub max_score: Option<f64>,
    /// The messages of the compiler.
    pub compiler_messages: String,
    /// The tests in the order of the package.
    pub tests: Vec<JudgedTest>,
    /// Warnings about the package.
    pub warnings: Vec<String>,
    /// The time that each phase took.
    pub timing: Timing,
    /// The reason why there is no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ProblemDetails>,
}

/// The result of one test.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct JudgedTest {
    /// The name.
    pub name: String,
    /// The name of the test's group.
    pub group: String,
    /// The verdict; `null` if the test was not judged.
    pub verdict: Option<String>,
    /// The reason for the verdict, or for its absence.
    pub reason: String,
    /// The comment of the checker.
    pub comment: String,
    /// The points.
    pub score: Option<f64>,
    /// CPU time in milliseconds.
    pub cpu_ms: Option<f64>,
    /// Real time in milliseconds.
    pub wall_ms: Option<f64>,
    /// Peak memory in bytes.
    pub memory_bytes: Option<u64>,
}

impl JudgedTest {
    fn new(report: &TestReport) -> JudgedTest {
        let figures = report.figures.as_ref();
        let time = |nanoseconds: u64| milliseconds(Duration::from_nanos(nanoseconds));
        let cpu = |figures: &Figures| time(figures.cpu_user_ns + figures.cpu_system_ns);
        JudgedTest {
            name: report.name.clone(),
            group: report.group.clone(),
            verdict: report.verdict.map(|verdict| verdict.name().to_owned()),
            reason: report.reason.clone(),
            comment: report.comment.clone(),
            score: report.score,
            cpu_ms: figures.map(cpu),
            wall_ms: figures.map(|figures| time(figures.real_time_ns)),
            memory_bytes: figures.map(|figures| figures.peak_memory_bytes),
        }
    }
}

impl JobDocument for JudgingAnswer {
    const KIND: JobKind = JobKind::Judging;

    fn without_results(
        id: String,
        state: RunState,
        label: Option<String>,
        age: Duration,
        error: Option<ProblemDetails>,
    ) -> JudgingAnswer {
        JudgingAnswer {
            id,
            state,
            label,
            problem: None,
            verdict: None,
            blame: None,
            reason: String::new(),
            score: None,
            max_score: None,
            compiler_messages: String::new(),
            tests: Vec::new(),
            warnings: Vec::new(),
            timing: Timing {
                queued_ms: 0.0,
                setup_ms: 0.0,
                total_ms: milliseconds(age),
            },
            error,
        }
    }
}

fn answer(job: &Job, judgement: Judgement) -> JudgingAnswer {
    let submission: SubmissionReport = judgement.submission;
    let blame = match submission.verdict {
        None => BlameName::Request,
        Some(Verdict::JudgeError) => BlameName::Service,
        Some(_) => BlameName::Program,
    };
    JudgingAnswer {
        problem: Some(judgement.problem),
        verdict: submission.verdict.map(|verdict| verdict.name().to_owned()),
        blame: Some(blame),
        reason: submission.reason,
        score: submission.score,
        max_score: submission.max_score,
        compiler_messages: submission
            .compilation
            .map_or_else(String::new, |compilation| compilation.messages),
        tests: submission.tests.iter().map(JudgedTest::new).collect(),
        warnings: judgement.warnings,
        timing: Timing {
            queued_ms: milliseconds(judgement.queued),
            setup_ms: 0.0,
            total_ms: milliseconds(judgement.total),
        },
        ..JudgingAnswer::without_results(
            job.id.clone(),
            RunState::Ended,
            job.label.clone(),
            Duration::ZERO,
            None,
        )
    }
}

impl From<JudgingError> for ProblemDetails {
    fn from(error: JudgingError) -> ProblemDetails {
        match error {
            JudgingError::Refused(refusal) => refusal.into(),
            JudgingError::Package(_) => ProblemDetails {
                code: "faulty_package".to_owned(),
                kind: "/docs/problems#faulty_package".to_owned(),
                title: "The problem package has mistakes".to_owned(),
                ..problem::impossible("package", error)
            },
            JudgingError::Submission(_) => problem::impossible("submission", error),
            JudgingError::Cancelled => problem::cancelled(),
            error => problem::sandbox(error),
        }
    }
}

/// Judge a submission
///
/// Judges a submission on all tests of a problem package, in JSON or as a form
/// (`multipart/form-data`). Waiting, cancelling and `Idempotency-Key` work as for runs.
#[utoipa::path(
    post,
    path = "/judgings",
    operation_id = "create_judging",
    tag = "judgings",
    params(
        ("Prefer" = Option<String>, Header, description = "`wait=SECONDS` or `respond-async`"),
        (
            "Idempotency-Key" = Option<String>,
            Header,
            description = "Identifies the request if it is repeated"
        ),
    ),
    request_body(content(
        (JudgingRequest = "application/json"),
        (JudgingForm = "multipart/form-data"),
    )),
    responses(
        (status = 200, description = "The judging has ended", body = JudgingAnswer),
        (
            status = 202,
            description = "The judging continues; `Location` is its address",
            body = JudgingAnswer
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
    request: Request,
) -> Result<Response, ProblemDetails> {
    let service = &v1.service;
    let request = if Media::of(&headers) == Media::Multipart {
        from_form(request).await?
    } else {
        let RequestBody(body) = RequestBody::from_request(request, &v1).await?;
        serde_json::from_slice(&body).map_err(problem::malformed)?
    };
    let waiting = Waiting::new(&headers, request.wait_ms);
    let key = jobs::idempotency_key(&headers, &client, JobKind::Judging)?;
    // The boundaries of a repeated form differ, so its content is compared.
    let canonical = serde_json::to_vec(&request).map_err(problem::internal)?;
    let label = request.label.clone();
    request::check_label(label.as_deref())?;
    let patience = request.queue_ms.unwrap_or(service.config.queue.wait_ms);
    let ticket = client.ticket(canonical.len(), Duration::from_millis(patience));
    let files = Files {
        service,
        client: &client,
    };
    let (observer, events) = mpsc::unbounded_channel();
    let judging = Judging {
        ticket,
        package: files.content("package", &request.package)?,
        submission: sources(files, &request.submission)?,
        language: request.language,
        fail_fast: request.fail_fast,
        default_memory_bytes: service.config.limits.default.memory_bytes,
        observer,
    };
    let has_key = key.is_some();
    let keyed = key.map(|key| (key, &canonical[..]));
    let job = match jobs::begin(&v1.jobs, &client, JobKind::Judging, label, keyed)? {
        Begun::Joined(job) => job,
        Begun::New(job) => {
            let ending = Ending::new(&v1.jobs, job.clone());
            tokio::spawn(run_job(
                service.clone(),
                job.clone(),
                ending,
                judging,
                events,
            ));
            job
        }
    };
    Ok(jobs::respond::<JudgingAnswer>(&v1.jobs, &job, waiting, has_key).await)
}

async fn run_job(
    service: Arc<Service>,
    job: Arc<Job>,
    ending: Ending,
    judging: Judging,
    mut events: mpsc::UnboundedReceiver<Event>,
) {
    let mut running = std::pin::pin!(judging::judge(&service.programs, judging));
    let result = loop {
        tokio::select! {
            biased;
            Some(event) = events.recv() => log_event(&job, event),
            result = &mut running => {
                count(&service, &result);
                break result.map_err(ProblemDetails::from);
            }
            () = job.cancelled() => break Err(problem::cancelled()),
        }
    };
    while let Ok(event) = events.try_recv() {
        log_event(&job, event);
    }
    let document = result.and_then(|judgement| {
        serde_json::to_vec(&answer(&job, judgement))
            .map(|document| Bytes::from(document.into_boxed_slice()))
            .map_err(problem::internal)
    });
    ending.end(document);
}

fn count(service: &Service, result: &Result<Judgement, JudgingError>) {
    match result {
        Ok(judgement) => {
            let verdict = judgement
                .submission
                .verdict
                .map(|verdict| verdict.name().to_owned());
            let verdict = verdict.as_deref().unwrap_or("none");
            service.metrics.count_judging(verdict, judgement.queued);
        }
        Err(JudgingError::Refused(_)) => service.metrics.count_refusal(INTERFACE),
        Err(
            error @ (JudgingError::Machine(_)
            | JudgingError::NotPrepared(_)
            | JudgingError::System { .. }),
        ) => {
            tracing::error!(%error, interface = INTERFACE, "the service failed");
            service.metrics.count_service_error();
        }
        Err(JudgingError::Package(_) | JudgingError::Submission(_) | JudgingError::Cancelled) => {}
    }
}

fn log_event(job: &Job, event: Event) {
    match event {
        Event::Started { queued } => {
            job.start();
            job.log_document("started", &json!({ "queued_ms": milliseconds(queued) }));
        }
        Event::Compiled { messages } => {
            job.log_document("compiled", &json!({ "messages": messages }));
        }
        Event::Judged { tests, of } => {
            job.log_document("judged", &json!({ "tests": tests, "of": of }));
        }
        Event::Test { index, report } => {
            let mut test = serde_json::to_value(JudgedTest::new(&report)).unwrap_or_default();
            test["test"] = index.into();
            job.log_document("test", &test);
        }
    }
}

fn sources(
    files: Files<'_>,
    submission: &BTreeMap<String, Blob>,
) -> Result<Vec<Source>, ProblemDetails> {
    if submission.is_empty() {
        return Err(problem::impossible(
            "submission",
            "a submission needs at least one source",
        ));
    }
    let source = |(path, blob): (&String, &Blob)| {
        Ok::<_, ProblemDetails>(Source {
            path: path.into(),
            content: files.content(&format!("submission.{path}"), blob)?,
        })
    };
    let sources: Vec<Source> = submission.iter().map(source).collect::<Result<_, _>>()?;
    files.check_read("submission", sources.iter().map(|source| &source.content))?;
    Ok(sources)
}

async fn from_form(request: Request) -> Result<JudgingRequest, ProblemDetails> {
    use base64::Engine as _;
    let encode =
        |bytes: &Bytes| Blob::Base64(base64::engine::general_purpose::STANDARD.encode(bytes));
    let mut form = Multipart::from_request(request, &())
        .await
        .map_err(problem::malformed)?;
    let mut fields = serde_json::Map::new();
    let mut submission = BTreeMap::new();
    let mut count = 0;
    while let Some(field) = form.next_field().await.map_err(problem::rejected_form)? {
        count += 1;
        if count > MAX_FORM_FIELDS {
            let detail = format!("a form may have at most {MAX_FORM_FIELDS} fields");
            return Err(problem::malformed(detail));
        }
        let name = field.name().unwrap_or_default().to_owned();
        let file_name = field.file_name().map(str::to_owned);
        let bytes = field.bytes().await.map_err(problem::rejected_form)?;
        let text = || {
            let text = std::str::from_utf8(&bytes).map(|text| Value::from(text.trim()));
            text.map_err(|_| problem::malformed(format!("the field {name} is not UTF-8")))
        };
        match &name[..] {
            "package" => {
                fields.insert(name, json!(encode(&bytes)));
            }
            "package_sha256" => {
                fields.insert("package".to_owned(), json!({ "sha256": text()? }));
            }
            "submission" => {
                let path = file_name
                    .ok_or_else(|| problem::malformed("the field submission needs a file name"))?;
                submission.insert(path, encode(&bytes));
            }
            "fail_fast" | "queue_ms" | "wait_ms" => {
                let value = serde_json::from_slice(&bytes).map_err(problem::malformed)?;
                fields.insert(name, value);
            }
            _ => {
                let text = text()?;
                fields.insert(name, text);
            }
        }
    }
    fields.insert("submission".to_owned(), json!(submission));
    serde_json::from_value(Value::Object(fields)).map_err(problem::malformed)
}

/// State and result of a judging
#[utoipa::path(
    get,
    path = "/judgings/{id}",
    operation_id = "judging_state",
    tag = "judgings",
    params(("id" = String, Path, description = "The id of the judging")),
    responses(
        (
            status = 200,
            description = "The state, with the result if the judging has ended",
            body = JudgingAnswer
        ),
        (
            status = 404,
            description = "This client has no such judging",
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
    jobs::show::<JudgingAnswer>(&v1, &client, &id)
}

/// Cancel a judging
#[utoipa::path(
    delete,
    path = "/judgings/{id}",
    operation_id = "cancel_judging",
    tag = "judgings",
    params(("id" = String, Path, description = "The id of the judging")),
    responses(
        (status = 204, description = "The judging has ended"),
        (
            status = 404,
            description = "This client has no such judging",
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
    jobs::cancel::<JudgingAnswer>(&v1, &client, &id).await
}

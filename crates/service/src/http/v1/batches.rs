//! Many runs in one request. Each result is sent when it is ready.

use super::V1;
use super::auth::{Authenticated, INTERFACE};
use super::body::RequestBody;
use super::jobs;
use super::model::{RunAnswer, RunRequest};
use super::runs::{Forgetting, Prepared};
use crate::core::program::ProgramError;
use crate::core::queue::{Held, Refusal};
use crate::core::registry::JobKind;
use crate::http::problem::{self, ProblemDetails};
use crate::tokens::Client;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use utoipa::ToSchema;

const MAX_RUNS: usize = 10_000;
/// Number of a batch's runs in the queue for each run that executes.
const WINDOW_PER_SLOT: usize = 4;

/// Many runs. Fields other than `runs` apply to each run that does not set them itself; `files`,
/// `env` and `limits` are joined.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct BatchRequest {
    /// Fields of all runs.
    #[serde(flatten)]
    pub shared: RunRequest,
    /// The runs.
    pub runs: Vec<RunRequest>,
}

/// A line of the answer: the result of one run.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct BatchLine {
    /// The index of the run in the request.
    pub index: usize,
    /// The results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunAnswer>,
    /// The reason why the run has no results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ProblemDetails>,
}

/// The last line of the answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct BatchEnd {
    /// The number of runs that were answered.
    pub done: usize,
    /// The number of runs without results for which the service is to blame. A retry may succeed.
    pub service_errors: usize,
}

/// A line of the answer: the result of one run, or the final line.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub enum BatchOutput {
    /// The result of one run.
    Line(Box<BatchLine>),
    /// The last line.
    End(BatchEnd),
}

/// Run many programs
///
/// The answer is a stream of JSON lines: one for each run, in the order in which the runs end, and
/// a last line with the numbers `done` and `service_errors`. If the client closes the connection,
/// the remaining runs are cancelled. Runs of a batch take turns with other requests of the client.
/// The result of each run is kept like that of a single run, under its own id.
#[utoipa::path(
    post,
    path = "/batches",
    operation_id = "create_batch",
    tag = "runs",
    request_body = BatchRequest,
    responses(
        (
            status = 200,
            description = "A line for each run, and a final line",
            body = inline(BatchOutput),
            content_type = "application/x-ndjson"
        ),
        (
            status = "4XX",
            description = "The request cannot be carried out",
            body = ProblemDetails,
            content_type = "application/problem+json"
        ),
    ),
)]
pub async fn create(
    State(v1): State<Arc<V1>>,
    Authenticated(client): Authenticated,
    RequestBody(body): RequestBody,
) -> Result<Response, ProblemDetails> {
    let (shared, requests) = parse(&body)?;
    if v1.service.programs.queue.is_draining() {
        return Err(Refusal::Draining.into());
    }
    let window = match client.max_queued {
        0 => usize::MAX,
        most => most.max(1),
    };
    let place = jobs::stream(&v1.service, &client)?;
    let slots = v1.service.programs.queue.bounds().cpu_time;
    let window = window.min(slots * WINDOW_PER_SLOT);
    let batch = Arc::new(Batch {
        v1,
        client,
        shared,
        flow: new_flow(),
    });
    let end = Arc::new(std::sync::Mutex::new(BatchEnd::default()));
    let counted = end.clone();
    let lines = stream::iter(requests.into_iter().enumerate())
        .map(move |(index, request)| {
            let batch = batch.clone();
            async move { batch.line(index, request).await }
        })
        .buffer_unordered(window)
        .map(move |(line, is_service_error, held)| {
            if let Ok(mut end) = counted.lock() {
                end.done += 1;
                end.service_errors += usize::from(is_service_error);
            }
            let line = to_line(&line);
            drop(held);
            line
        });
    let last = stream::once(async move {
        drop(place);
        let end = end.lock().map(|end| end.clone());
        to_line(&end.unwrap_or_default())
    });
    let lines = lines.chain(last).map(Ok::<_, std::convert::Infallible>);
    Ok((
        [(CONTENT_TYPE, "application/x-ndjson")],
        Body::from_stream(lines),
    )
        .into_response())
}

/// The charge for the memory of a line.
type Kept = Option<Arc<Held>>;

struct Batch {
    v1: Arc<V1>,
    client: Client,
    shared: Map<String, Value>,
    flow: u64,
}

impl Batch {
    /// Carries out one run. Returns the line of the run, and whether the service is to blame for an
    /// error.
    async fn line(&self, index: usize, request: Map<String, Value>) -> (BatchLine, bool, Kept) {
        match self.run(request).await {
            Ok((answer, held)) => {
                let line = BatchLine {
                    index,
                    run: Some(answer),
                    error: None,
                };
                (line, false, Some(held))
            }
            Err(problem) => {
                // With 429 and 5xx, nothing ran or the service failed, so a retry may succeed.
                let is_service_error = problem.status >= 429;
                let line = BatchLine {
                    index,
                    run: None,
                    error: Some(problem),
                };
                (line, is_service_error, None)
            }
        }
    }

    async fn run(
        &self,
        request: Map<String, Value>,
    ) -> Result<(RunAnswer, Arc<Held>), ProblemDetails> {
        let request = join(self.shared.clone(), request);
        let size = serde_json::to_string(&request).map_or(0, |text| text.len());
        let request: RunRequest =
            serde_json::from_value(Value::Object(request)).map_err(problem::malformed)?;
        if request.interactive || request.terminal {
            return Err(problem::impossible(
                "interactive",
                "the runs of a batch cannot be interactive",
            ));
        }
        let label = request.label.clone();
        let prepared = Prepared::new(&self.v1.service, &self.client, request, size)?;
        let (mut run, rendering) = prepared.split();
        let jobs = &self.v1.jobs;
        let job = jobs.begin(self.client.id, JobKind::Run, label);
        let forgetting = Forgetting::new(jobs, &job);
        run.ticket.flow = self.flow;
        let begin = Instant::now();
        loop {
            let left = run.ticket.patience.saturating_sub(begin.elapsed());
            let mut attempt = run.clone();
            attempt.ticket.patience = left;
            match self.v1.service.run(INTERFACE, attempt).await {
                Ok(report) => {
                    let answer = rendering.answer(job.id.clone(), &report);
                    let document = serde_json::to_vec(&answer).map_err(problem::internal)?;
                    forgetting.keep(&document.into_boxed_slice().into());
                    return Ok((answer, report.held));
                }
                // The batch itself waits for room in the queue.
                Err(ProgramError::Refused(
                    Refusal::QueueFull { retry_after, .. } | Refusal::ShareUsed { retry_after, .. },
                )) if retry_after < left => tokio::time::sleep(retry_after).await,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn new_flow() -> u64 {
    // Flow 0 is for single requests.
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// The fields of a batch: shared ones, and those of each run.
pub type Parsed = (Map<String, Value>, Vec<Map<String, Value>>);

/// Parses the shared fields and those of each run.
///
/// # Errors
/// The body is not a batch, or it has too many runs.
pub fn parse(body: &[u8]) -> Result<Parsed, ProblemDetails> {
    let Value::Object(mut shared) = serde_json::from_slice(body).map_err(problem::malformed)?
    else {
        return Err(problem::malformed(
            "a batch is an object with the field runs",
        ));
    };
    let Some(Value::Array(runs)) = shared.remove("runs") else {
        return Err(problem::impossible("runs", "runs must be an array"));
    };
    if runs.len() > MAX_RUNS {
        let count = runs.len() as u64;
        return Err(problem::above_limit("runs", count, MAX_RUNS as u64));
    }
    let runs = runs.into_iter().enumerate().map(|(index, run)| match run {
        Value::Object(run) => Ok(run),
        _ => Err(problem::impossible(
            &format!("runs[{index}]"),
            "a run is an object",
        )),
    });
    Ok((shared, runs.collect::<Result<_, _>>()?))
}

/// The fields of a run, with those of the batch that the run does not set.
pub fn join(mut shared: Map<String, Value>, run: Map<String, Value>) -> Map<String, Value> {
    for (name, value) in run {
        match (shared.get_mut(&name), value) {
            (Some(Value::Object(known)), Value::Object(own))
                if ["files", "env", "limits"].contains(&&name[..]) =>
            {
                known.extend(own);
            }
            (_, value) => {
                shared.insert(name, value);
            }
        }
    }
    shared
}

fn to_line(document: &impl Serialize) -> Bytes {
    let mut line = serde_json::to_vec(document).unwrap_or_default();
    line.push(b'\n');
    line.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn runs_take_shared_fields_and_override_them() {
        let body = json!({
            "runtime": "python",
            "files": { "a.py": { "text": "a" }, "b.txt": { "text": "b" } },
            "limits": { "cpu_ms": 1 },
            "runs": [
                { "files": { "a.py": { "text": "c" } }, "limits": { "wall_ms": 2 } },
                { "runtime": "cpp" },
            ],
        });
        let (shared, runs) = parse(body.to_string().as_bytes()).unwrap();
        let joined: Vec<Value> = runs
            .into_iter()
            .map(|run| Value::Object(join(shared.clone(), run)))
            .collect();
        assert_eq!(joined[0]["files"]["a.py"]["text"], "c");
        assert_eq!(joined[0]["files"]["b.txt"]["text"], "b");
        assert_eq!(joined[0]["limits"], json!({ "cpu_ms": 1, "wall_ms": 2 }));
        assert_eq!(
            (&joined[0]["runtime"], &joined[1]["runtime"]),
            (&json!("python"), &json!("cpp"))
        );
        serde_json::from_value::<RunRequest>(joined[0].clone()).unwrap();
    }

    #[test]
    fn batch_without_runs_is_rejected() {
        assert!(parse(b"[]").is_err());
        assert_eq!(parse(b"{}").unwrap_err().field.as_deref(), Some("runs"));
        assert!(parse(br#"{"runs":[1]}"#).is_err());
    }
}

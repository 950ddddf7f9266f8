//! Creating, showing and deleting submissions.

use super::Judge0;
use super::auth::{Authenticated, Authorized};
use super::body;
use super::callbacks;
use super::encoding::new_token;
use super::error::RequestError;
use super::model::{Draft, Rules};
use super::parameters::{DEFAULT_FIELDS, Parameters};
use super::run;
use super::store::{RemoveError, Store};
use super::submission::{Submission, Verdict};
use crate::core::access::{Owned, Verb, may};
use crate::core::queue::Refusal;
use crate::http::headers::RunHeaders;
use crate::tokens::Client;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use std::sync::Arc;

const PAGE_SIZE: i64 = 20;

type Answer<T = Json<Value>> = Result<T, RequestError>;

/// Creates a submission. With `wait=true`, the answer is sent when the submission has ended.
pub async fn create(
    State(judge0): State<Arc<Judge0>>,
    Authenticated(client): Authenticated,
    parameters: Parameters,
    headers: HeaderMap,
    body: Bytes,
) -> Answer<Response> {
    // Judge0 checks its queue before it reads the request, so a full queue hides other errors.
    let full = |_| RequestError::QueueFull;
    judge0.store.check_room(client.id, 1).map_err(full)?;
    let mut document = body::fields(&headers, body, judge0.max_batch()).await?;
    let parameters = parameters.with_body(&document);
    parameters.add_to(&mut document);
    let fields = parameters.fields()?;
    let is_base64 = parameters.is_true("base64_encoded");
    let draft = judge0.draft(&document, is_base64)?;
    let submission = judge0.insert(&client, draft)?;
    let token = submission.token.clone();
    if parameters.is_true("wait") {
        let unfinished = Unfinished {
            store: judge0.store.clone(),
            token: token.clone(),
            forget: true,
        };
        let ended = process(&judge0, &client, &submission).await;
        drop(unfinished);
        let ended = ended.map_err(|_| RequestError::QueueFull)?;
        let document = ended
            .to_json(&fields, is_base64)
            .map_err(|_| RequestError::CreatedNotUtf8(token.to_string()))?;
        return Ok(created(&token, document));
    }
    begin(&judge0, &client, submission);
    let document = json!({ "token": &*token });
    Ok(created(&token, document))
}

fn created(token: &str, document: Value) -> Response {
    let mut response = (StatusCode::CREATED, Json(document)).into_response();
    let headers = RunHeaders {
        id: Some(token),
        ..RunHeaders::default()
    };
    headers.add_to(response.headers_mut());
    response
}

/// Creates several submissions.
pub async fn create_batch(
    State(judge0): State<Arc<Judge0>>,
    Authenticated(client): Authenticated,
    parameters: Parameters,
    headers: HeaderMap,
    body: Bytes,
) -> Answer<(StatusCode, Json<Value>)> {
    let mut document = body::fields(&headers, body, judge0.max_batch()).await?;
    let parameters = parameters.with_body(&document);
    let submissions = match document.remove("submissions") {
        Some(Value::Array(submissions)) => submissions,
        _ => Vec::new(),
    };
    judge0
        .store
        .check_room(client.id, submissions.len().max(1))
        .map_err(|_| RequestError::QueueFull)?;
    check_batch(&judge0, submissions.len())?;
    let is_base64 = parameters.is_true("base64_encoded");
    let mut status = StatusCode::UNPROCESSABLE_ENTITY;
    let mut answers = Vec::with_capacity(submissions.len());
    for fields in submissions {
        let fields = match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let created = judge0
            .draft(&fields, is_base64)
            .and_then(|draft| judge0.insert(&client, draft));
        answers.push(match created {
            Ok(submission) => {
                status = StatusCode::CREATED;
                let answer = json!({ "token": &*submission.token });
                begin(&judge0, &client, submission);
                answer
            }
            Err(RequestError::Invalid(errors)) => json!(errors),
            // Earlier submissions of the batch are already running.
            Err(RequestError::QueueFull) if status == StatusCode::CREATED => {
                json!({ "error": "queue is full" })
            }
            Err(error) => return Err(error),
        });
    }
    Ok((status, Json(answers.into())))
}

/// Shows a submission.
pub async fn show(
    State(judge0): State<Arc<Judge0>>,
    Authenticated(client): Authenticated,
    Path(token): Path<String>,
    parameters: Parameters,
) -> Answer {
    let fields = parameters.fields()?;
    let submission = judge0.find(&client, &token);
    let submission = submission.ok_or(RequestError::NotFound)?;
    let is_base64 = parameters.is_true("base64_encoded");
    Ok(Json(submission.to_json(&fields, is_base64)?))
}

/// Shows the submissions with the tokens of the header or parameter `tokens`.
pub async fn show_batch(
    State(judge0): State<Arc<Judge0>>,
    Authenticated(client): Authenticated,
    parameters: Parameters,
    headers: HeaderMap,
) -> Answer {
    let fields = parameters.fields()?;
    let tokens = headers
        .get("tokens")
        .and_then(|tokens| tokens.to_str().ok());
    let tokens = tokens.or_else(|| parameters.get("tokens"));
    let tokens = tokens.unwrap_or_default().trim();
    let tokens: Vec<&str> = match tokens {
        "" => Vec::new(),
        tokens => tokens.split(',').collect(),
    };
    check_batch(&judge0, tokens.len())?;
    let is_base64 = parameters.is_true("base64_encoded");
    let submissions: Result<Vec<Value>, _> = tokens
        .into_iter()
        .map(|token| match judge0.find(&client, token.trim()) {
            Some(submission) => submission.to_json(&fields, is_base64),
            None => Ok(Value::Null),
        })
        .collect();
    let submissions = submissions.map_err(|_| RequestError::BatchNotUtf8)?;
    Ok(Json(json!({ "submissions": submissions })))
}

/// Shows all submissions in pages, the latest first.
pub async fn index(
    State(judge0): State<Arc<Judge0>>,
    _: Authorized,
    parameters: Parameters,
) -> Answer {
    let fields = parameters.fields()?;
    let page = parameters.number("page").unwrap_or(1);
    let per_page = parameters.number("per_page").unwrap_or(PAGE_SIZE);
    let number = |name, value: i64, least| {
        let wrong = RequestError::Page(name, value);
        usize::try_from(value)
            .ok()
            .filter(|value| *value >= least)
            .ok_or(wrong)
    };
    let (page, per_page) = (number("page", page, 1)?, number("per_page", per_page, 0)?);
    let skip = per_page.saturating_mul(page - 1);
    let (submissions, total) = judge0.store.page(skip, per_page);
    let is_base64 = parameters.is_true("base64_encoded");
    let documents: Result<Vec<Value>, _> = submissions
        .iter()
        .map(|submission| submission.to_json(&fields, is_base64))
        .collect();
    let pages = total.div_ceil(per_page.max(1)).max(1);
    Ok(Json(json!({
        "submissions": documents.map_err(|_| RequestError::BatchNotUtf8)?,
        "meta": {
            "current_page": page,
            "next_page": (page < pages).then_some(page + 1),
            "prev_page": (page > 1).then(|| page - 1),
            "total_pages": pages,
            "total_count": total,
        },
    })))
}

/// Deletes a submission that has ended, and shows it for the last time.
pub async fn delete(
    State(judge0): State<Arc<Judge0>>,
    _: Authorized,
    Path(token): Path<String>,
    parameters: Parameters,
) -> Answer {
    let fields = parameters.fields()?;
    if !judge0.service.config.judge0.delete {
        return Err(RequestError::DeleteNotAllowed);
    }
    let submission = judge0.store.remove(&token);
    let submission = submission.map_err(|error| match error {
        RemoveError::Unknown => RequestError::NotFound,
        RemoveError::NotEnded(status) => RequestError::NotEnded(status),
    })?;
    // Base64 cannot fail, and this is the last chance to see the submission.
    Ok(Json(submission.to_json(&fields, true)?))
}

impl Judge0 {
    fn draft(&self, fields: &Map<String, Value>, is_base64: bool) -> Answer<Draft> {
        let rules = Rules {
            limits: &self.limits,
            languages: &self.languages,
            receivers: &self.receivers,
        };
        let parse = || Draft::parse(fields, is_base64, rules);
        let draft = if fields.contains_key("additional_files") {
            // Unpacking an archive takes time.
            tokio::task::block_in_place(parse)
        } else {
            parse()
        };
        draft.map_err(RequestError::Invalid)
    }

    /// A submission that the client may see.
    fn find(&self, client: &Client, token: &str) -> Option<Submission> {
        let submission = self.store.get(token)?;
        let owned = Owned::by(submission.client, client);
        may(client, Verb::Read, owned).then_some(submission)
    }

    fn insert(&self, client: &Client, draft: Draft) -> Answer<Submission> {
        let token = new_token().map_err(RequestError::NoToken)?;
        self.store
            .insert(token, client.id, draft)
            .map_err(|_| RequestError::QueueFull)
    }
}

/// A submission whose run may be abandoned.
struct Unfinished {
    store: Store,
    token: Arc<str>,
    /// Whether the client has disconnected without learning the token.
    forget: bool,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.forget {
            self.store.abandon(&self.token);
        } else {
            // A submission that has ended keeps its result.
            let verdict = Verdict::internal_error("the run was interrupted");
            self.store.finish(&self.token, verdict);
        }
    }
}

/// Runs a submission without waiting for its end.
fn begin(judge0: &Arc<Judge0>, client: &Client, submission: Submission) {
    let (judge0, client) = (judge0.clone(), client.clone());
    tokio::spawn(async move {
        let store = &judge0.store;
        let _unfinished = Unfinished {
            store: store.clone(),
            token: submission.token.clone(),
            forget: false,
        };
        if let Err(refusal) = process(&judge0, &client, &submission).await {
            let verdict = Verdict::internal_error(refusal);
            let ended = store.finish(&submission.token, verdict);
            call_back(&judge0, ended.as_ref());
        }
    });
}

/// Runs a submission and stores its result.
async fn process(
    judge0: &Arc<Judge0>,
    client: &Client,
    submission: &Submission,
) -> Result<Submission, Refusal> {
    let store = &judge0.store;
    let token = &*submission.token;
    let started = || store.start(token);
    let verdict = match run::run(&judge0.service, client, &submission.draft, started).await {
        // A retry would exceed the memory as well.
        Err(refusal) if refusal.is_final() => Verdict::internal_error(refusal),
        verdict => verdict?,
    };
    let ended = store.finish(token, verdict);
    call_back(judge0, ended.as_ref());
    Ok(ended.unwrap_or_else(|| submission.clone()))
}

/// Sends a result to its receiver.
fn call_back(judge0: &Arc<Judge0>, submission: Option<&Submission>) {
    let Some(submission) = submission.cloned() else {
        return;
    };
    let Some(url) = submission.draft.callback_url.clone() else {
        return;
    };
    let Some(turn) = judge0.callbacks.enter(submission.client) else {
        let receiver = callbacks::origin(&url);
        tracing::warn!(
            receiver,
            "too many results of this client wait; one is not sent"
        );
        return;
    };
    tokio::spawn(async move {
        let _place = turn.wait().await;
        if let Ok(document) = submission.to_json(&DEFAULT_FIELDS, true) {
            callbacks::send(&url, document.to_string().into()).await;
        }
    });
}

fn check_batch(judge0: &Judge0, count: usize) -> Result<(), RequestError> {
    let max = judge0.max_batch();
    match count {
        0 => Err(RequestError::BatchEmpty),
        count if count > max => Err(RequestError::BatchTooLarge(max)),
        _ => Ok(()),
    }
}

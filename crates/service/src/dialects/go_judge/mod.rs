//! The interface of go-judge.
//!
//! | file | content |
//! | --- | --- |
//! | `model` | groups of commands and their results, for all transports |
//! | `request`, `answer` | both in JSON |
//! | `error` | why a request has no results |
//! | `run` | admits and runs groups |
//! | `file_system`, `mount_file` | the files that commands see; go-judge's `mount.yaml` |
//! | `plan` | the files of a group, and the memory that it needs |
//! | `host_files` | the files of the host that requests may read |
//! | `prepare` | turns a command into an execution of the core |
//! | `member` | executes the command and assembles its result |
//! | `result` | turns a report of the core into a result |
//! | `pipes`, `terminal` | connections between commands and to clients |
//! | `websocket` | `/ws`: many requests on one connection |
//! | `stream`, `conversation` | `/stream`: one interactive group |
//! | `store`, `files` | stored files and `/file` |
//! | `grpc` | all of it over gRPC |
//! | `info` | `/version` and `/config` |
//! | `auth` | the client of a request |

mod answer;
mod auth;
mod conversation;
pub mod error;
pub mod file_system;
mod files;
mod grpc;
mod host_files;
mod info;
mod member;
pub mod model;
pub mod mount_file;
mod pipes;
mod plan;
mod prepare;
pub mod request;
mod result;
mod run;
mod store;
mod stream;
mod terminal;
mod websocket;

pub use grpc::decode;
pub use pipes::Pipes;
pub use run::check;

use crate::config::Dialect;
use crate::dialects::slash;
use crate::http::bodies;
use crate::http::encoding;
use crate::http::held::hold;
use crate::service::Service;
use auth::Authenticated;
use axum::Json;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use error::{GroupError, RequestError};
use file_system::FileSystem;
use run::Attached;
use std::sync::Arc;
use store::FileIds;
use tokio::sync::{Semaphore, SemaphorePermit};

/// The name of this interface in tokens and metrics.
const INTERFACE: &str = "go-judge";

/// The state that all addresses of this interface share.
#[derive(Debug)]
pub struct GoJudge {
    service: Arc<Service>,
    files: FileIds,
    file_system: FileSystem,
    /// The slots of the lane for real time. A group acquires all its slots at once, so it starts
    /// only as a whole.
    slots: Semaphore,
    slot_count: usize,
}

impl GoJudge {
    /// The state at the start of the service, without files.
    pub fn new(service: Arc<Service>, file_system: FileSystem) -> GoJudge {
        let slots = service.programs.queue.bounds().real_time;
        GoJudge {
            service,
            files: FileIds::default(),
            file_system,
            slots: Semaphore::new(slots),
            slot_count: slots,
        }
    }

    /// Forgets the ids of files that the store no longer has.
    pub fn forget_expired(&self) {
        self.files.forget_expired(&self.service.files);
    }

    /// Waits for slots for a whole group.
    async fn slots_for(&self, commands: usize) -> Result<SemaphorePermit<'_>, GroupError> {
        let too_many = || RequestError::AboveLimit {
            field: "cmd",
            value: commands as u64,
            max: self.slot_count as u64,
        };
        if commands > self.slot_count {
            return Err(too_many().into());
        }
        let count = u32::try_from(commands).map_err(|_| too_many())?;
        // The semaphore is never closed.
        let permit = self.slots.acquire_many(count).await;
        permit.map_err(|_| too_many().into())
    }
}

/// The routes.
pub fn router(go_judge: &Arc<GoJudge>) -> Router {
    let state = (go_judge.service.clone(), Some(Dialect::GoJudge));
    let bound = from_fn_with_state(state, bodies::bound);
    let max_bytes = go_judge.service.config.max_body_bytes as u64;
    let upload = post(files::add).layer(from_fn_with_state(max_bytes, encoding::expand));
    let routes = [
        ("/run", post(run_group).layer(bound)),
        ("/file", get(files::list).merge(upload)),
        ("/file/{id}", get(files::get).delete(files::delete)),
        ("/ws", get(websocket::connect)),
        ("/stream", get(stream::connect)),
        ("/version", get(info::version)),
        ("/config", get(info::config)),
    ];
    routes
        .into_iter()
        .fold(Router::new(), |router, (path, methods)| {
            let slash = slash::redirect(StatusCode::MOVED_PERMANENTLY);
            router
                .route(path, only(methods))
                .route(&format!("{path}/"), slash)
        })
        .with_state(go_judge.clone())
}

/// The routes of gRPC.
pub fn grpc_router(go_judge: &Arc<GoJudge>) -> Router {
    grpc::router().with_state(go_judge.clone())
}

/// Treats other methods like unknown paths, as go-judge's web framework (gin) does by default.
fn only(methods: MethodRouter<Arc<GoJudge>>) -> MethodRouter<Arc<GoJudge>> {
    methods.fallback(async || (StatusCode::NOT_FOUND, "404 page not found"))
}

/// `POST /run`.
async fn run_group(
    State(go_judge): State<Arc<GoJudge>>,
    Authenticated(client): Authenticated,
    body: Bytes,
) -> Response {
    let group = match request::parse(&body) {
        Ok(group) => group,
        Err(error) => return GroupError::from(error).into_response(),
    };
    drop(body);
    match run::run(&go_judge, &client, group, Attached::default()).await {
        Ok(report) => {
            let mut response = Json(answer::results(&report.results)).into_response();
            report.headers().add_to(response.headers_mut());
            hold(response, report.held)
        }
        Err(error) => error.into_response(),
    }
}

/// Errors are JSON strings.
fn error_answer(status: StatusCode, message: impl ToString) -> Response {
    (status, Json(message.to_string())).into_response()
}

impl IntoResponse for GroupError {
    fn into_response(self) -> Response {
        let status = match self {
            GroupError::Request(_) => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        error_answer(status, self)
    }
}

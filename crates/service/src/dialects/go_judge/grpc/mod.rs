//! `pb.Executor`: the interface over gRPC.
//!
//! `messages` contains the messages of `proto/go_judge.proto`.

mod messages;

use super::INTERFACE;
use super::conversation::{Control, Conversation, Place};
use super::error::{GroupError, RequestError};
use super::model::{CommandResult, Group};
use super::run::{self, Attached};
use crate::core::files::StoreError;
use crate::core::queue::Held;
use crate::dialects::go_judge::GoJudge;
use crate::http::bearer::bearer;
use crate::http::headers::RunHeaders;
use crate::http::held::hold;
use crate::tokens::Client;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response as HttpResponse;
use axum::routing::post;
use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use messages::{
    FileContent, FileId, FileList, Piece, Request, Response, StreamRequest, StreamRequestChoice,
    StreamResponse, StreamResponseChoice,
};
use prost::Message;
use rustix::termios::Winsize;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use tonic::server::Grpc;
use tonic::{Response as Answer, Status, Streaming};
use tonic_prost::ProstCodec;
use tower::service_fn;

/// Copies of a file in memory while it is sent.
const COPIES: u64 = 2;
/// The maximum number of messages that wait for a slow client.
const CHANNEL_MESSAGES: usize = 4;

/// The routes.
pub fn router() -> Router<Arc<GoJudge>> {
    Router::new()
        .route("/pb.Executor/Exec", post(exec))
        .route("/pb.Executor/ExecStream", post(exec_stream))
        .route("/pb.Executor/FileList", post(file_list))
        .route("/pb.Executor/FileGet", post(file_get))
        .route("/pb.Executor/FileAdd", post(file_add))
        .route("/pb.Executor/FileDelete", post(file_delete))
}

/// Reads the message of a group.
///
/// # Errors
/// `None` if the bytes are not such a message; otherwise those of [`super::request::parse`].
pub fn decode(bytes: &[u8]) -> Result<Group, Option<RequestError>> {
    let request = Request::decode(bytes).map_err(|_| None)?;
    request.into_group().map_err(Some)
}

async fn exec(State(go_judge): State<Arc<GoJudge>>, request: HttpRequest) -> HttpResponse {
    let run = async |go_judge: Arc<GoJudge>, client: Client, request: Request| {
        let request_id = request.request_id.clone();
        let group = request.into_group().map_err(GroupError::from)?;
        let report = run::run(&go_judge, &client, group, Attached::default()).await?;
        let headers = report.headers();
        let held = report.held;
        let mut answer = Answer::new(response(request_id, report.results));
        answer.extensions_mut().insert(held);
        headers.add_to(answer.metadata_mut().as_mut());
        Ok(answer)
    };
    unary(go_judge, request, run).await
}

async fn file_list(State(go_judge): State<Arc<GoJudge>>, request: HttpRequest) -> HttpResponse {
    let list = async |go_judge: Arc<GoJudge>, client: Client, (): ()| {
        let file_ids = go_judge.files.list(&go_judge.service.files, &client);
        Ok(Answer::new(FileList { file_ids }))
    };
    unary(go_judge, request, list).await
}

async fn file_get(State(go_judge): State<Arc<GoJudge>>, request: HttpRequest) -> HttpResponse {
    let get = async |go_judge: Arc<GoJudge>, client: Client, FileId { file_id }| {
        let files = &go_judge.files;
        let found = files.find(&go_judge.service.files, &client, &file_id);
        let (name, file) = found.ok_or_else(|| unknown(&file_id))?;
        // A message is in memory as a whole.
        let max_bytes = go_judge.service.config.max_body_bytes as u64;
        if file.bytes() > max_bytes {
            return Err(Status::out_of_range(format!(
                "the file has {} bytes, and a message at most {max_bytes}; GET /file/{file_id}",
                file.bytes()
            )));
        }
        let held = go_judge
            .service
            .programs
            .queue
            .hold(client.id, COPIES * file.bytes());
        let held = held.ok_or_else(busy)?;
        let read = tokio::task::spawn_blocking(move || file.read());
        let content = read.await.map_err(internal)?.map_err(internal)?;
        let mut answer = Answer::new(FileContent { name, content });
        answer.extensions_mut().insert(Arc::new(held));
        Ok(answer)
    };
    unary(go_judge, request, get).await
}

async fn file_add(State(go_judge): State<Arc<GoJudge>>, request: HttpRequest) -> HttpResponse {
    let add = async |go_judge: Arc<GoJudge>, client: Client, FileContent { name, content }| {
        let files = &go_judge.files;
        let file_id = files
            .add_bytes(&go_judge.service.files, &client, name, content)
            .await?;
        Ok(Answer::new(FileId { file_id }))
    };
    unary(go_judge, request, add).await
}

async fn file_delete(State(go_judge): State<Arc<GoJudge>>, request: HttpRequest) -> HttpResponse {
    let delete = async |go_judge: Arc<GoJudge>, client: Client, FileId { file_id }| {
        let files = &go_judge.files;
        if files.remove(&go_judge.service.files, &client, &file_id) {
            Ok(Answer::new(()))
        } else {
            Err(unknown(&file_id))
        }
    };
    unary(go_judge, request, delete).await
}

/// Runs an interactive group. If the client disconnects, the group is cancelled.
async fn exec_stream(State(go_judge): State<Arc<GoJudge>>, request: HttpRequest) -> HttpResponse {
    let (client, request) = match authenticate(&go_judge, request) {
        Ok(authenticated) => authenticated,
        Err(status) => return status.into_http(),
    };
    let Some(place) = go_judge.service.streams.take(client.id, 1) else {
        return busy().into_http();
    };
    let max_bytes = go_judge.service.config.max_body_bytes;
    let talk = service_fn(move |request: tonic::Request<Streaming<StreamRequest>>| {
        let (go_judge, client) = (go_judge.clone(), client.clone());
        async move {
            let stream = converse(go_judge, client, request.into_inner()).await?;
            let mut answer = Answer::new(stream);
            // The other headers are known only when the group has ended.
            RunHeaders::default().add_to(answer.metadata_mut().as_mut());
            Ok::<_, Status>(answer)
        }
    });
    let mut grpc = Grpc::new(ProstCodec::default()).max_decoding_message_size(max_bytes);
    hold(grpc.streaming(talk, request).await.map(Body::new), place)
}

async fn converse(
    go_judge: Arc<GoJudge>,
    client: Client,
    mut requests: Streaming<StreamRequest>,
) -> Result<impl Stream<Item = Result<StreamResponse, Status>>, Status> {
    let first = requests.message().await?;
    let Some(StreamRequestChoice::Request(request)) = first.and_then(|first| first.request) else {
        return Err(Status::invalid_argument(
            "the first message is not an execRequest",
        ));
    };
    let request_id = request.request_id.clone();
    let group = request.into_group().map_err(GroupError::from)?;
    let (conversation, control, mut output) = Conversation::begin(go_judge, client, group)?;
    let (sender, receiver) = mpsc::channel(CHANNEL_MESSAGES);
    let talk = async move {
        let from_client = async {
            while let Ok(Some(message)) = requests.message().await {
                control_by(&control, message).await;
            }
            // The client may have no more messages to send.
            std::future::pending::<std::convert::Infallible>().await
        };
        let to_client = async {
            while let Some((place, bytes)) = output.recv().await {
                // If the client disconnects, this task is aborted.
                let _ = sender.send(Ok(piece(place, bytes))).await;
            }
        };
        let ended = tokio::select! {
            (ended, ()) = async { tokio::join!(conversation.run(), to_client) } => ended,
            never = from_client => match never {},
        };
        let last = match ended {
            Ok(results) => Ok(response(request_id, results)),
            Err(error) => Err(Status::from(error)),
        };
        let last = last.map(|response| StreamResponse {
            response: Some(StreamResponseChoice::Response(response)),
        });
        let _ = sender.send(last).await;
    };
    let task = AbortOnDropHandle::new(tokio::spawn(talk));
    Ok(unfold((receiver, task), |(mut receiver, task)| async {
        let message = receiver.recv().await?;
        Some((message, (receiver, task)))
    }))
}

/// Handles a message from the client.
async fn control_by(control: &Control, message: StreamRequest) {
    let place = |index: u32, fd: u32| Place {
        index: usize::try_from(index).unwrap_or(usize::MAX),
        fd: usize::try_from(fd).unwrap_or(usize::MAX),
    };
    let size = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
    match message.request {
        Some(StreamRequestChoice::Input(piece)) => {
            let place = place(piece.index, piece.fd);
            control.input(place, piece.content).await;
        }
        Some(StreamRequestChoice::Resize(resize)) => {
            let winsize = Winsize {
                ws_row: size(resize.rows),
                ws_col: size(resize.cols),
                ws_xpixel: size(resize.x),
                ws_ypixel: size(resize.y),
            };
            control
                .resize(place(resize.index, resize.fd), winsize)
                .await;
        }
        Some(StreamRequestChoice::Cancel(())) => control.cancel(),
        Some(StreamRequestChoice::Request(_)) | None => {}
    }
}

fn piece(place: Place, content: Bytes) -> StreamResponse {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    StreamResponse {
        response: Some(StreamResponseChoice::Output(Piece {
            index: number(place.index),
            content,
            fd: number(place.fd),
        })),
    }
}

fn response(request_id: String, results: Vec<CommandResult>) -> Response {
    Response {
        request_id,
        results: results.into_iter().map(Into::into).collect(),
        error: String::new(),
    }
}

/// Answers a call in which each side sends one message.
async fn unary<Asked, Answered, F>(
    go_judge: Arc<GoJudge>,
    request: HttpRequest,
    call: impl Fn(Arc<GoJudge>, Client, Asked) -> F,
) -> HttpResponse
where
    Asked: Message + Default + 'static,
    Answered: Message + 'static,
    F: Future<Output = Result<Answer<Answered>, Status>>,
{
    let (client, request) = match authenticate(&go_judge, request) {
        Ok(authenticated) => authenticated,
        Err(status) => return status.into_http(),
    };
    // One connection may carry many calls.
    let Some(place) = go_judge.service.streams.take(client.id, 1) else {
        return busy().into_http();
    };
    let max_bytes = go_judge.service.config.max_body_bytes;
    let answer = service_fn(|request: tonic::Request<Asked>| {
        call(go_judge.clone(), client.clone(), request.into_inner())
    });
    let mut grpc = Grpc::new(ProstCodec::default()).max_decoding_message_size(max_bytes);
    let mut response = grpc.unary(answer, request).await.map(Body::new);
    let held = response.extensions_mut().remove::<Arc<Held>>();
    hold(response, (place, held))
}

/// The client, from the metadata `authorization: Bearer TOKEN`.
fn authenticate(go_judge: &GoJudge, request: HttpRequest) -> Result<(Client, HttpRequest), Status> {
    let (parts, body) = request.into_parts();
    match go_judge.service.tokens.client(bearer(&parts)) {
        Ok(client) if client.may_use(INTERFACE) => {
            Ok((client, HttpRequest::from_parts(parts, body)))
        }
        _ => Err(Status::unauthenticated("the request needs a valid token")),
    }
}

fn busy() -> Status {
    Status::resource_exhausted("this client has used up its share of the service")
}

fn internal(error: impl ToString) -> Status {
    Status::internal(error.to_string())
}

fn unknown(id: &str) -> Status {
    Status::not_found(format!("no file has the id {id:?}"))
}

impl From<GroupError> for Status {
    fn from(error: GroupError) -> Status {
        match error {
            GroupError::Request(error) => Status::invalid_argument(error.to_string()),
            error => internal(error),
        }
    }
}

impl From<StoreError> for Status {
    fn from(error: StoreError) -> Status {
        internal(error)
    }
}

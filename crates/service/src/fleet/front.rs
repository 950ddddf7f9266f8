//! A front end: relays the requests of clients, and holds no state beyond them.

use super::error::FleetError;
use super::figures::Figures;
use super::frame::{Frame, Kind, TunnelId};
use super::load::{Announcement, fingerprint};
use super::relay::relay;
use super::roster::{Roster, TICK};
use super::state::{ListenAddress, Shared};
use super::tunnel::Tunnels;
use super::{Membership, random};
use crate::config::{Config, Dialect, Listen};
use crate::core::share::{Bound, Pool};
use crate::http::bearer::bearer;
use crate::http::origins;
use crate::http::problem::{self, ProblemDetails};
use crate::http::server::Connections;
use crate::http::sockets::{SocketFile, Sockets};
use crate::http::{pace, speed_of};
use crate::tokens::Tokens;
use async_nats::connection::State as ConnectionState;
use async_nats::{Message, Subscriber};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use bytes::Bytes;
use futures_util::StreamExt;
use millibox_fleet::service as subject;
use millibox_web::listen::{Patience, Protocol};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// The number of ticks between two messages to an executor with tunnels.
const BEAT_TICKS: u32 = 4;

/// If tokens are required, clients without a token share this part of the memory, so that they
/// cannot use up the memory of the others.
const STRANGERS_PART: u64 = 4;

/// A front end whose addresses are bound.
#[derive(Debug)]
pub struct Front {
    shared: Arc<Shared>,
    listeners: Vec<(Listen, TcpListener)>,
    unix_listener: Option<(SocketFile, UnixListener)>,
    _tasks: [AbortOnDropHandle<()>; 4],
}

impl Front {
    /// Connects, and takes over bound addresses. Must be called in the runtime.
    ///
    /// # Errors
    /// The connection cannot be prepared, or the runtime cannot watch one of the sockets.
    pub async fn start(
        config: Config,
        sockets: Sockets,
        membership: &Membership,
    ) -> Result<Front, FleetError> {
        let (listeners, unix_listener) = sockets.watched()?;
        let connected = membership.server.connect_service(&membership.credentials);
        let (client, losses) = connected.await?;
        let name = membership.name().clone();
        let loads = client.subscribe(subject::all_loads()).await?;
        let messages = client.subscribe(subject::all_down(&name)).await?;
        let tokens = Tokens::new(&config.token);
        let strangers_bytes = match tokens.are_required() {
            true => config.queue.max_bytes / STRANGERS_PART,
            false => 0,
        };
        let shared = Arc::new(Shared {
            clients: Pool::new(Bound {
                total: config.queue.max_bytes - strangers_bytes,
                // Without tokens, networks have shares.
                is_divided: !tokens.are_required() || tokens.are_several(),
            }),
            strangers: Pool::new(Bound {
                total: strangers_bytes,
                is_divided: true,
            }),
            roster: Roster::new(fingerprint(&config)),
            tokens,
            name,
            client,
            epoch: random(),
            number: AtomicU64::new(0),
            tunnels: Tunnels::default(),
            figures: Figures::new(),
            config,
        });
        let tasks = [
            tokio::spawn(note_loads(shared.clone(), loads)),
            tokio::spawn(receive_all(shared.clone(), messages)),
            tokio::spawn(keep_time(shared.clone())),
            tokio::spawn(super::close_after_losses(shared.tunnels.clone(), losses)),
        ];
        Ok(Front {
            shared,
            listeners,
            unix_listener,
            _tasks: tasks.map(AbortOnDropHandle::new),
        })
    }

    /// The bound addresses, with the ports that the kernel chose.
    pub fn addresses(&self) -> Vec<Listen> {
        crate::http::server::bound_addresses(&self.listeners)
    }

    /// The path of the Unix socket.
    pub fn unix_socket(&self) -> Option<&Path> {
        self.unix_listener.as_ref().map(|(file, _)| file.path())
    }

    /// Serves until `stop` is cancelled. Then the open requests have the configured time to end.
    pub async fn serve(self, stop: CancellationToken) {
        let Front {
            shared,
            listeners,
            unix_listener,
            _tasks,
        } = self;
        let connections = Arc::new(Connections::new(shared.config.max_connections));
        let http = millibox_web::listen::Server::new(Patience::default(), CancellationToken::new());
        let mut accepting = tokio::task::JoinSet::new();
        for (listen, listener) in listeners {
            let protocol = match listen.dialect {
                Some(Dialect::GoJudgeGrpc) => Protocol::Http2,
                _ => Protocol::Http1,
            };
            let routes = routes(&shared, listen.dialect, false);
            accepting.spawn(
                http.clone()
                    .accept(listener, protocol, connections.clone(), routes),
            );
        }
        let mut socket_file = None;
        if let Some((file, listener)) = unix_listener {
            socket_file = Some(file);
            let routes = routes(&shared, None, true);
            accepting.spawn(
                http.clone()
                    .accept(listener, Protocol::Http1, connections, routes),
            );
        }
        stop.cancelled().await;
        tracing::info!("the front end is shutting down");
        http.close(Duration::from_millis(shared.config.drain_ms))
            .await;
        accepting.shutdown().await;
        shared.tunnels.close(|_| true);
        // Executors learn that the rest has ended, at the latest by the silence of this process.
        let _ = tokio::time::timeout(TICK, shared.client.flush()).await;
        drop(socket_file);
    }
}

/// The routes of an address.
fn routes(shared: &Arc<Shared>, dialect: Option<Dialect>, is_unix: bool) -> Router {
    let listener = ListenAddress { dialect, is_unix };
    let relayed = {
        let shared = shared.clone();
        move |request: Request| relay(shared.clone(), listener, request)
    };
    let own = match dialect {
        Some(_) => Router::new(),
        None => Router::new()
            .route("/healthz", get(async || "ok\n"))
            .route("/readyz", get(readyz))
            .route("/metrics", get(metrics)),
    };
    own.with_state(shared.clone())
        .layer(from_fn_with_state(shared.clone(), guard))
        .fallback(relayed)
        .layer(from_fn_with_state(speed_of(dialect), pace))
}

/// Rejects requests of foreign pages to the routes of the front end, as executors do.
async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    match origins::rejection(&request, &shared.tokens, &shared.config.trusted_origins) {
        Some(rejection) => rejection,
        None => next.run(request).await,
    }
}

/// Whether a request would be accepted, and the load of the whole fleet.
async fn readyz(State(shared): State<Arc<Shared>>) -> Response {
    let all = shared.roster.shown();
    let usable: Vec<&Announcement> = all
        .iter()
        .filter(|one| one.is_usable)
        .map(|one| &one.load)
        .collect();
    let sum = |value: fn(&Announcement) -> u32| -> u64 {
        usable.iter().map(|load| u64::from(value(load))).sum()
    };
    let (status, code) = match () {
        () if usable.is_empty() => ("no executors", StatusCode::SERVICE_UNAVAILABLE),
        () if usable.iter().all(|load| load.is_full()) => {
            ("saturated", StatusCode::SERVICE_UNAVAILABLE)
        }
        () => ("ready", StatusCode::OK),
    };
    let body = json!({
        "status": status,
        "executors": usable.len(),
        "slots": sum(|load| load.slots),
        "running": sum(|load| load.running),
        "queued": sum(|load| load.queued),
    });
    (code, Json(body)).into_response()
}

async fn metrics(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response, ProblemDetails> {
    if shared.tokens.are_required() {
        let (parts, _) = request.into_parts();
        let client = shared.tokens.client(bearer(&parts));
        let client = client.map_err(|_| problem::unauthorized())?;
        if !client.admin {
            return Err(problem::forbidden(
                "the metrics need the token of an administrator",
            ));
        }
    }
    let text = shared
        .figures
        .encode(&shared.roster.shown(), shared.tunnels.count());
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, kind)], text).into_response())
}

async fn note_loads(shared: Arc<Shared>, mut messages: Subscriber) {
    let mut has_warned = false;
    while let Some(Message {
        subject, payload, ..
    }) = messages.next().await
    {
        let Some(name) = subject::executor_of_load(&subject) else {
            continue;
        };
        let Some(load) = Announcement::decode(&payload) else {
            // Hostile executors must not fill the log.
            if !std::mem::replace(&mut has_warned, true) {
                tracing::warn!(executor = %name, "an announcement is malformed");
            }
            continue;
        };
        if shared.roster.announce(name.clone(), load) {
            // An earlier process of this name is gone.
            shared.tunnels.close(|tunnel| tunnel.peer == name.as_str());
        }
    }
}

async fn receive_all(shared: Arc<Shared>, mut messages: Subscriber) {
    while let Some(message) = messages.next().await {
        let executor = subject::executor_of_down(&message.subject);
        let frame = Frame::decode(message.payload);
        let (Some(executor), Some(frame)) = (executor, frame) else {
            continue;
        };
        let (kind, tunnel) = (frame.kind, frame.tunnel);
        // The message that has ended the tunnel may be lost. Without a further one, the executor
        // would keep the place of the request.
        if !shared.tunnels.receive(executor.as_str(), frame)
            && matches!(kind, Kind::Accept | Kind::Data | Kind::End)
        {
            let reset = Frame::control(Kind::Reset, tunnel, Bytes::new());
            shared.route(&executor).send(&reset).await;
        }
    }
}

/// Notices executors that are gone, and shows the others that this front end still has tunnels.
async fn keep_time(shared: Arc<Shared>) {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let own = TunnelId {
        epoch: shared.epoch,
        number: 0,
    };
    for number in 0_u32.. {
        ticks.tick().await;
        for gone in shared.roster.tick() {
            tracing::warn!(executor = %gone, "an executor is gone");
            shared.tunnels.close(|tunnel| tunnel.peer == gone.as_str());
        }
        // Without a connection, a message might wait, and executors would not grow older.
        let is_connected = shared.client.connection_state() == ConnectionState::Connected;
        if !number.is_multiple_of(BEAT_TICKS) || !is_connected {
            continue;
        }
        for peer in shared.tunnels.peers() {
            let Ok(executor) = peer.parse() else { continue };
            let beat = Frame::control(Kind::Beat, own, Bytes::new());
            shared.route(&executor).send(&beat).await;
        }
    }
}

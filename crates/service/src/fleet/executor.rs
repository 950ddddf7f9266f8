//! Serves the requests that arrive through tunnels, and announces the load.

use super::Membership;
use super::error::FleetError;
use super::frame::{Frame, Kind};
use super::load::{Announcement, Opening, encode};
use super::tunnel::{Route, Tunnel, Tunnels, WINDOW, WINDOW_BYTES};
use crate::config::Dialect;
use crate::core::ids;
use crate::core::share::{Bound, Claim, Pool};
use crate::interfaces::Interfaces;
use async_nats::{Client, Message, Subscriber};
use axum::Router;
use axum::extract::Request;
use bytes::Bytes;
use futures_util::StreamExt;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use millibox_fleet::name::WorkerName;
use millibox_fleet::service as subject;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::DuplexStream;
use tokio::runtime::{Handle, Runtime};
use tokio::time::MissedTickBehavior;
use tokio_util::task::AbortOnDropHandle;
use tower::ServiceExt;

/// The interval at which a changed load is announced.
const TICK: Duration = Duration::from_millis(100);
/// An unchanged load is announced after this number of ticks.
const IDLE_TICKS: u32 = 5;
/// A front end that has sent nothing for this number of ticks is gone.
const MAX_AGE_TICKS: u32 = 50;
/// The maximum number of front ends, counting each of their starts.
const MAX_FRONTS: usize = 1024;
/// The maximum number of a front end's starts, so that none of them can use up all of
/// [`MAX_FRONTS`].
const MAX_STARTS: usize = 32;
/// The time for the headers of a request.
const HEADER_PATIENCE: Duration = Duration::from_secs(30);
/// The largest headers of a request, in bytes. The front end has the same bound for its clients.
const MAX_HEADER_BYTES: usize = 128 << 10;
/// The same maximum for HTTP/2.
const MAX_HTTP2_HEADER_BYTES: u32 = MAX_HEADER_BYTES as u32;
/// The maximum number of headers of a request.
const MAX_HEADERS: usize = 128;
/// The time in which the last messages must be sent.
const FAREWELL: Duration = Duration::from_secs(2);

/// The starts of front ends, and the ticks since their last message.
#[derive(Debug, Default)]
struct Fronts {
    ages: HashMap<(WorkerName, u64), u32>,
}

impl Fronts {
    /// Records a message. Returns whether the front end may send messages.
    fn note(&mut self, front: &WorkerName, epoch: u64) -> bool {
        let key = (front.clone(), epoch);
        if let Some(age) = self.ages.get_mut(&key) {
            *age = 0;
            return true;
        }
        let starts = self.ages.keys().filter(|(name, _)| name == front).count();
        if self.ages.len() >= MAX_FRONTS || starts >= MAX_STARTS {
            return false;
        }
        self.ages.insert(key, 0);
        true
    }

    /// Lets all starts grow older. Returns those that are gone.
    fn tick(&mut self) -> Vec<(WorkerName, u64)> {
        for age in self.ages.values_mut() {
            *age += 1;
        }
        let gone = self.ages.extract_if(|_, age| *age > MAX_AGE_TICKS);
        gone.map(|(start, _)| start).collect()
    }
}

/// A service that serves the requests of front ends.
#[derive(Debug)]
pub struct Executor {
    shared: Arc<Shared>,
    _thread: Thread,
    _tasks: [AbortOnDropHandle<()>; 3],
}

/// A thread that carries the messages, so that an executor whose other threads parse large bodies
/// is not taken for one that is gone.
#[derive(Debug)]
struct Thread(Option<Runtime>);

impl Thread {
    fn start() -> std::io::Result<Thread> {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        runtime.worker_threads(1).thread_name("fleet").enable_all();
        Ok(Thread(Some(runtime.build()?)))
    }

    /// The runtime of the thread, or of the caller after the end of the thread.
    fn handle(&self) -> Handle {
        let runtime = self.0.as_ref();
        runtime.map_or_else(Handle::current, |runtime| runtime.handle().clone())
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // Asynchronous code must not wait for the end of a thread.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

#[derive(Debug)]
struct Shared {
    interfaces: Arc<Interfaces>,
    name: WorkerName,
    client: Client,
    /// The random number of this process.
    instance: u64,
    routes: HashMap<(Option<Dialect>, bool), Router>,
    /// The threads that handle requests.
    handlers: Handle,
    tunnels: Tunnels,
    /// The tunnels of each client.
    clients: Pool<String>,
    fronts: Mutex<Fronts>,
    is_draining: AtomicBool,
}

impl Executor {
    /// Connects, and serves the requests of front ends from now on.
    ///
    /// # Errors
    /// The connection cannot be prepared.
    pub async fn join(
        interfaces: &Arc<Interfaces>,
        membership: &Membership,
    ) -> Result<Executor, FleetError> {
        let name = membership.name().clone();
        ids::set_executor(name.as_str());
        let alone = Dialect::ALL.map(|dialect| (Some(dialect), false));
        let kinds = alone.into_iter().chain([(None, false), (None, true)]);
        let routes = kinds.map(|kind| (kind, interfaces.router(kind.0, kind.1)));
        let routes: HashMap<_, _> = routes.collect();
        let thread = Thread::start().map_err(FleetError::Threads)?;
        let runtime = thread.handle();
        let handlers = Handle::current();
        let server = membership.server.clone();
        let credentials = membership.credentials.clone();
        let up = subject::all_up(&name);
        let connected = runtime.spawn(async move {
            let (client, losses) = server.connect_service(&credentials).await?;
            let messages = client.subscribe(up).await?;
            Ok::<_, FleetError>((client, losses, messages))
        });
        // The task panics only because of a bug.
        let connected = connected
            .await
            .map_err(|error| FleetError::Threads(error.into()))?;
        let (client, losses, messages) = connected?;
        let max_tunnels = interfaces.service().config.max_connections as u64;
        let shared = Arc::new(Shared {
            routes,
            handlers,
            interfaces: interfaces.clone(),
            name,
            client,
            instance: super::random(),
            tunnels: Tunnels::default(),
            clients: Pool::new(Bound {
                total: max_tunnels,
                is_divided: true,
            }),
            fronts: Mutex::default(),
            is_draining: AtomicBool::new(false),
        });
        let tasks = [
            runtime.spawn(shared.clone().receive_all(messages)),
            runtime.spawn(shared.clone().announce()),
            runtime.spawn(super::close_after_losses(shared.tunnels.clone(), losses)),
        ];
        Ok(Executor {
            shared,
            _thread: thread,
            _tasks: tasks.map(AbortOnDropHandle::new),
        })
    }

    /// Lets the front ends send their requests to other executors, and waits until all accepted
    /// requests have ended, or for the configured time.
    pub async fn drain(&self) {
        let shared = &self.shared;
        shared.is_draining.store(true, Ordering::Relaxed);
        let service = shared.interfaces.service();
        let patience = Duration::from_millis(service.config.drain_ms);
        let ended = async {
            // A request may be on its way until the front ends know.
            tokio::time::sleep(3 * TICK).await;
            let is_busy = || {
                let load = service.programs.queue.load();
                shared.tunnels.count() > 0 || load.running + load.queued > 0
            };
            while is_busy() {
                tokio::time::sleep(TICK).await;
            }
        };
        if tokio::time::timeout(patience, ended).await.is_err() {
            tracing::warn!("requests of front ends are still running and will be cancelled");
        }
        shared.tunnels.close(|_| true);
    }

    /// Sends the last messages.
    pub async fn leave(self) {
        self.shared.tunnels.close(|_| true);
        let _ = tokio::time::timeout(FAREWELL, self.shared.client.flush()).await;
    }
}

impl Shared {
    async fn receive_all(self: Arc<Shared>, mut messages: Subscriber) {
        while let Some(message) = messages.next().await {
            self.receive(message).await;
        }
    }

    async fn receive(self: &Arc<Shared>, message: Message) {
        // The message server lets a front end use only subjects with its own name.
        let Some(front) = subject::front_of_up(&message.subject) else {
            return;
        };
        let Some(frame) = Frame::decode(message.payload) else {
            tracing::debug!(%front, "a message of a front end is malformed");
            return;
        };
        if !self.fronts().note(&front, frame.tunnel.epoch) {
            tracing::debug!(%front, "there are too many front ends");
            return;
        }
        match frame.kind {
            Kind::Open => self.open(&front, &frame).await,
            Kind::Beat => {}
            kind => {
                let tunnel = frame.tunnel;
                let is_received = self.tunnels.receive(front.as_str(), frame);
                if !is_received && matches!(kind, Kind::Data | Kind::End) {
                    self.reset(&front, tunnel).await;
                }
            }
        }
    }

    fn fronts(&self) -> MutexGuard<'_, Fronts> {
        self.fronts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn route(&self, front: &WorkerName) -> Route {
        Route {
            client: self.client.clone(),
            subject: subject::down(front, &self.name),
        }
    }

    async fn reset(&self, front: &WorkerName, tunnel: super::frame::TunnelId) {
        let reset = Frame::control(Kind::Reset, tunnel, Bytes::new());
        self.route(front).send(&reset).await;
    }

    async fn open(self: &Arc<Shared>, front: &WorkerName, frame: &Frame) {
        let Some(opening) = Opening::decode(&frame.payload) else {
            tracing::debug!(%front, "a front end opens a tunnel with a malformed message");
            return;
        };
        if opening.instance != self.instance {
            return;
        }
        let routes = self.routes.get(&(opening.dialect, opening.is_unix));
        let claim = self.clients.take(opening.client.clone(), 1);
        let (Some(routes), Some(claim)) = (routes, claim) else {
            tracing::debug!(client = opening.client, "a client has too many tunnels");
            return self.reset(front, frame.tunnel).await;
        };
        let route = self.route(front);
        let Some((tunnel, stream)) =
            self.tunnels
                .start(frame.tunnel, front.as_str(), route.clone())
        else {
            return;
        };
        route
            .send(&Frame::control(Kind::Accept, frame.tunnel, Bytes::new()))
            .await;
        let routes = routes.clone();
        self.handlers
            .spawn(serve(tunnel, stream, opening.dialect, routes, claim));
    }

    /// Announces the load, and notices front ends that are gone.
    async fn announce(self: Arc<Shared>) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let subject = subject::load(&self.name);
        let (mut last, mut age) = (None, 0);
        loop {
            ticks.tick().await;
            self.age_fronts();
            let service = self.interfaces.service();
            let is_draining = self.is_draining.load(Ordering::Relaxed);
            let rate = service.programs.queue.rate();
            let load = Announcement::of(service, self.instance, rate, is_draining);
            age += 1;
            if age < IDLE_TICKS && last.as_ref() == Some(&load) {
                continue;
            }
            age = 0;
            // While the connection is lost, an announcement would only be sent too late.
            if self.client.connection_state() == async_nats::connection::State::Connected {
                let sent = self.client.publish(subject.clone(), encode(&load)).await;
                if let Err(error) = sent {
                    tracing::warn!(%error, "the load is not announced");
                }
            }
            last = Some(load);
        }
    }

    fn age_fronts(&self) {
        let gone = self.fronts().tick();
        for (front, epoch) in gone {
            self.tunnels.close_epoch(front.as_str(), epoch);
        }
    }
}

/// Serves the only request of a tunnel.
async fn serve(
    tunnel: Arc<Tunnel>,
    stream: DuplexStream,
    dialect: Option<Dialect>,
    routes: Router,
    _claim: Claim<String>,
) {
    let service = service_fn(move |request: Request<Incoming>| routes.clone().oneshot(request));
    let stream = TokioIo::new(stream);
    let served = async {
        match dialect {
            Some(Dialect::GoJudgeGrpc) => {
                let mut server = http2::Builder::new(TokioExecutor::new());
                server
                    .timer(TokioTimer::new())
                    .max_concurrent_streams(1)
                    .initial_stream_window_size(WINDOW)
                    .initial_connection_window_size(WINDOW)
                    .max_send_buf_size(WINDOW_BYTES)
                    .max_header_list_size(MAX_HTTP2_HEADER_BYTES);
                server.serve_connection(stream, service).await
            }
            _ => {
                let mut server = http1::Builder::new();
                server
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEADER_PATIENCE)
                    .max_headers(MAX_HEADERS)
                    .max_buf_size(MAX_HEADER_BYTES)
                    .keep_alive(false);
                let connection = server.serve_connection(stream, service);
                connection.with_upgrades().await
            }
        }
    };
    tokio::select! {
        served = served => if let Err(error) = served {
            tracing::debug!(%error, "a tunnel failed");
            tunnel.close();
        },
        () = tunnel.closed() => {}
    }
    // A WebSocket uses the tunnel until the front end ends it.
    tunnel.closed().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> WorkerName {
        text.parse().unwrap()
    }

    #[test]
    fn front_end_with_many_starts_leaves_room_for_others() {
        let mut fronts = Fronts::default();
        let known = (0..10_000).filter(|epoch| fronts.note(&name("web"), *epoch));
        assert_eq!(known.count(), MAX_STARTS);
        assert!(fronts.note(&name("web-2"), 1));
        // A start that is silent is forgotten, also if a different front end uses its number.
        for _ in 0..MAX_AGE_TICKS {
            assert!(fronts.tick().is_empty());
            assert!(fronts.note(&name("web-2"), 1));
        }
        let gone = fronts.tick();
        assert_eq!(gone.len(), MAX_STARTS);
        assert!(gone.iter().all(|(front, _)| *front == name("web")));
        assert!(fronts.note(&name("web"), 99_999));
    }
}

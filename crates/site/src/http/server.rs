//! Connections of browsers. Bounds keep slow or hostile clients from blocking others.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// The header with the addresses of clients and proxies, the latest at the end.
const FORWARDED_FOR: &str = "x-forwarded-for";
/// Connections at one time.
const MAX_CONNECTIONS: usize = 4096;
/// How long a client may take to send the headers of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_HEADERS: usize = 100;
const MAX_HEADER_BYTES: usize = 64 << 10;
/// The pause after a failure to accept a connection, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Replaces the address of a proxy by that of its client, which the proxy has added to the header
/// `X-Forwarded-For`. Clients choose what stands before.
pub async fn forwarded(mut request: Request, next: Next) -> Response {
    let values = request.headers().get_all(FORWARDED_FOR);
    let last = values.iter().next_back().and_then(|it| it.to_str().ok());
    let last: Option<IpAddr> = last.and_then(|text| text.rsplit(',').next()?.trim().parse().ok());
    if let Some(address) = last {
        request.extensions_mut().insert(address);
    }
    next.run(request).await
}

/// Serves pages until the future is dropped.
pub async fn serve(listener: TcpListener, routes: Router) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        // The semaphore is never closed.
        let place = places.clone().acquire_owned().await.ok();
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Answers are written in one piece.
        let _ = stream.set_nodelay(true);
        let routes = routes.clone().layer(Extension(address.ip()));
        tokio::spawn(async move {
            let mut server = http1::Builder::new();
            server
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIMEOUT)
                .max_headers(MAX_HEADERS)
                .max_buf_size(MAX_HEADER_BYTES);
            let service = TowerToHyperService::new(routes);
            let connection = server.serve_connection(TokioIo::new(stream), service);
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection failed");
            }
            drop(place);
        });
    }
}

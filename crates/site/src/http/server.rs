//! Serves the pages to browsers, within the bounds of `millibox-web` and of [`Connections`].

use super::connections::{Connection, Connections};
use axum::Router;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use millibox_web::listen::{Patience, Protocol, Server, end_event_streams};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// The header with the addresses of clients and proxies, the latest at the end.
const FORWARDED_FOR: &str = "x-forwarded-for";
/// How long the end of the site waits for running requests.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(15);

/// Replaces the address of a proxy by that of its client, which the proxy has added to the header
/// `X-Forwarded-For`. Clients choose what stands before.
pub async fn forwarded(mut request: Request, next: Next) -> Response {
    let values = request.headers().get_all(FORWARDED_FOR);
    let last = values.iter().next_back().and_then(|it| it.to_str().ok());
    let last: Option<IpAddr> = last.and_then(|text| text.rsplit(',').next()?.trim().parse().ok());
    if let Some(address) = last {
        if let Some(connection) = request.extensions().get::<Arc<Connection>>() {
            connection.forward(address);
        }
        request.extensions_mut().insert(address);
    }
    next.run(request).await
}

/// Serves pages until `ending` is cancelled. Running requests then have some seconds to end.
pub async fn serve(
    listener: TcpListener,
    connections: Arc<Connections>,
    routes: Router,
    ending: CancellationToken,
) {
    let server = Server::new(Patience::default(), ending.clone());
    let routes = end_event_streams(routes, ending);
    let accepting = server.clone();
    accepting
        .accept(listener, Protocol::Http1, connections, routes)
        .await;
    if server.close(DRAIN_TIMEOUT).await {
        tracing::warn!("requests still ran and were cut off");
    }
}

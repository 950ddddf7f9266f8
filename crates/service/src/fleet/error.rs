//! Why a service cannot take part in a fleet, and why a request gets no response.

use crate::http::sockets::ServerError;
use millibox_fleet::connection::ConnectionError;

/// Why a service cannot take part in a fleet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// The connection cannot be prepared.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The client of the NATS server has ended.
    #[error("cannot subscribe to the messages of the fleet: {0}")]
    Subscribe(#[from] async_nats::SubscribeError),
    /// No thread can be started.
    #[error("cannot start a thread for the messages of the fleet: {0}")]
    Threads(std::io::Error),
    /// The runtime cannot watch one of the sockets.
    #[error(transparent)]
    Socket(#[from] ServerError),
}

/// Why a request gets no response from an executor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RelayError {
    /// The client's requests use its share of the front end's memory.
    #[error("the requests of this client are too large together; try again later")]
    Share,
    /// No executor announces itself.
    #[error("no machine that runs programs is available; try again later")]
    NoExecutor,
    /// None of the chosen executors has accepted a tunnel.
    #[error("no machine that runs programs has accepted the request; try again later")]
    NotAccepted,
    /// The executor has disappeared, and the request cannot be sent again.
    #[error("the machine that ran the request has disappeared; send the request again")]
    Lost,
}

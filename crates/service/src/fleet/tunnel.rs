//! A stream of bytes in both directions, made of messages.
//!
//! Each direction has a window: the sender may have [`WINDOW_BYTES`] on the way that the receiver
//! has not consumed. A small part counts as [`MIN_PART_COST_BYTES`], so the window also bounds the
//! number of parts. Therefore a tunnel needs bounded memory at both ends, however large the bodies
//! are, and even if the other end is hostile. A message that is missing, follows the end of the
//! stream, or exceeds the window ends the tunnel.

use super::frame::{Frame, HEADER_BYTES, Kind, TunnelId};
use async_nats::Client;
use bytes::{Buf, Bytes, BytesMut};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Bytes that a direction of a tunnel may have on the way.
pub const WINDOW_BYTES: usize = 64 << 10;
/// The same number for HTTP/2 within a tunnel.
pub const WINDOW: u32 = WINDOW_BYTES as u32;
/// The largest part of the stream in a message.
const PART_BYTES: usize = 32 << 10;
/// The part of the window that a small part uses, because each part needs memory beyond its bytes.
const MIN_PART_COST_BYTES: usize = 256;
const MIN_COST: u32 = MIN_PART_COST_BYTES as u32;
/// The number of consumed bytes that a receiver reports together.
const REPORT_BYTES: usize = WINDOW_BYTES / 4;

/// The memory that a tunnel may need at one end, in bytes: both windows, and the buffers of the
/// stream.
pub const TUNNEL_BYTES: u64 = 3 * WINDOW_BYTES as u64;

/// The tunnels of a process, by their numbers. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Tunnels {
    all: Arc<Mutex<HashMap<TunnelId, Arc<Tunnel>>>>,
}

/// The state of a tunnel that its messages change.
#[derive(Debug)]
pub struct Tunnel {
    id: TunnelId,
    /// The name of the other end.
    pub peer: String,
    incoming: mpsc::UnboundedSender<Incoming>,
    /// Bytes that may be sent.
    credit: Semaphore,
    /// The part of the window that received and not yet consumed parts use.
    unread: AtomicUsize,
    /// The sequence number of the next part.
    expected: AtomicU32,
    /// Whether the other end has ended its stream.
    has_ended: AtomicBool,
    accepted: watch::Sender<bool>,
    closed: CancellationToken,
    /// Whether the other end has ended the tunnel.
    is_reset: AtomicBool,
}

#[derive(Debug)]
enum Incoming {
    Data(Bytes),
    End,
}

/// Where the messages of a tunnel are sent.
#[derive(Debug, Clone)]
pub struct Route {
    pub client: Client,
    pub subject: String,
}

impl Route {
    /// Sends a message. If the connection has failed, the message waits for the next one. Without a
    /// client, the process is about to end.
    pub async fn send(&self, frame: &Frame) {
        let sent = self.client.publish(self.subject.clone(), frame.encode());
        if let Err(error) = sent.await {
            tracing::debug!(%error, "a message is not sent");
        }
    }
}

/// The part of the window that a part of this length uses.
fn cost(length: usize) -> usize {
    length.max(MIN_PART_COST_BYTES)
}

impl Tunnel {
    fn new(id: TunnelId, peer: &str) -> (Tunnel, mpsc::UnboundedReceiver<Incoming>) {
        let (incoming, parts) = mpsc::unbounded_channel();
        let tunnel = Tunnel {
            id,
            peer: peer.to_owned(),
            incoming,
            credit: Semaphore::new(WINDOW_BYTES),
            unread: AtomicUsize::new(0),
            expected: AtomicU32::new(0),
            has_ended: AtomicBool::new(false),
            accepted: watch::Sender::new(false),
            closed: CancellationToken::new(),
            is_reset: AtomicBool::new(false),
        };
        (tunnel, parts)
    }

    /// Ends the tunnel. Its streams end, and the other end learns that.
    pub fn close(&self) {
        self.closed.cancel();
    }

    /// Resolves when the tunnel has ended.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Waits until the other end has accepted the tunnel. Returns whether it has.
    pub async fn accepted(&self) -> bool {
        let mut accepted = self.accepted.subscribe();
        tokio::select! {
            waited = accepted.wait_for(|accepted| *accepted) => waited.is_ok(),
            () = self.closed() => false,
        }
    }

    fn receive(&self, frame: Frame) {
        let is_valid = match frame.kind {
            Kind::Data | Kind::End => {
                // A stream that is no longer read ignores the rest.
                self.receive_part(&frame) || self.incoming.is_closed()
            }
            Kind::Window => {
                let mut payload = frame.payload;
                let more = payload
                    .try_get_u32()
                    .map_or(usize::MAX, |more| more as usize);
                let is_valid =
                    more <= WINDOW_BYTES - self.credit.available_permits().min(WINDOW_BYTES);
                if is_valid {
                    self.credit.add_permits(more);
                }
                is_valid
            }
            Kind::Accept => {
                self.accepted.send_replace(true);
                true
            }
            Kind::Reset => {
                self.is_reset.store(true, Ordering::Relaxed);
                false
            }
            Kind::Open | Kind::Beat => true,
        };
        if !is_valid {
            self.close();
        }
    }

    /// Keeps a part of the stream. Returns whether the part is valid.
    fn receive_part(&self, frame: &Frame) -> bool {
        let is_next = self.expected.fetch_add(1, Ordering::Relaxed) == frame.sequence;
        let is_end = frame.kind == Kind::End;
        let is_late = self.has_ended.fetch_or(is_end, Ordering::Relaxed);
        if !is_next || is_late || self.closed.is_cancelled() {
            return false;
        }
        if is_end {
            return frame.payload.is_empty() && self.incoming.send(Incoming::End).is_ok();
        }
        let cost = cost(frame.payload.len());
        if self.unread.fetch_add(cost, Ordering::Relaxed) + cost > WINDOW_BYTES {
            return false;
        }
        // The payload would keep the whole buffer in which the message has arrived.
        let part = Bytes::copy_from_slice(&frame.payload);
        self.incoming.send(Incoming::Data(part)).is_ok()
    }
}

impl Tunnels {
    fn all(&self) -> MutexGuard<'_, HashMap<TunnelId, Arc<Tunnel>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a tunnel, and returns this end of its stream. `None` if the number is in use.
    pub fn start(
        &self,
        id: TunnelId,
        peer: &str,
        route: Route,
    ) -> Option<(Arc<Tunnel>, DuplexStream)> {
        let (tunnel, parts) = Tunnel::new(id, peer);
        let tunnel = Arc::new(tunnel);
        {
            let mut all = self.all();
            if all.contains_key(&id) {
                return None;
            }
            all.insert(id, tunnel.clone());
        }
        let (near, far) = tokio::io::duplex(PART_BYTES);
        tokio::spawn(carry(self.clone(), tunnel.clone(), far, parts, route));
        Some((tunnel, near))
    }

    /// Gives a message to its tunnel. Returns whether the tunnel exists.
    pub fn receive(&self, peer: &str, frame: Frame) -> bool {
        let tunnel = self.all().get(&frame.tunnel).cloned();
        // Only the other end of a tunnel may send messages to it.
        let Some(tunnel) = tunnel.filter(|tunnel| tunnel.peer == peer) else {
            return false;
        };
        tunnel.receive(frame);
        true
    }

    /// The number of tunnels.
    pub fn count(&self) -> usize {
        self.all().len()
    }

    /// Ends the tunnels that match.
    pub fn close(&self, is_ended: impl Fn(&Tunnel) -> bool) {
        for tunnel in self.all().values().filter(|tunnel| is_ended(tunnel)) {
            tunnel.close();
        }
    }

    /// Ends the tunnels that a front end has opened in this epoch.
    pub fn close_epoch(&self, peer: &str, epoch: u64) {
        self.close(|tunnel| tunnel.peer == peer && tunnel.id.epoch == epoch);
    }

    /// The names of the other ends.
    pub fn peers(&self) -> std::collections::BTreeSet<String> {
        self.all()
            .values()
            .map(|tunnel| tunnel.peer.clone())
            .collect()
    }
}

/// Carries the bytes of a tunnel until both directions have ended, or the tunnel is closed.
async fn carry(
    tunnels: Tunnels,
    tunnel: Arc<Tunnel>,
    stream: DuplexStream,
    parts: mpsc::UnboundedReceiver<Incoming>,
    route: Route,
) {
    let (reader, writer) = tokio::io::split(stream);
    let both = async {
        tokio::join!(
            send(&tunnel, reader, &route),
            receive(&tunnel, writer, parts, &route)
        )
    };
    let is_closed = tokio::select! {
        biased;
        () = tunnel.closed() => true,
        _ = both => false,
    };
    tunnels.all().remove(&tunnel.id);
    tunnel.close();
    if is_closed && !tunnel.is_reset.load(Ordering::Relaxed) {
        route
            .send(&Frame::control(Kind::Reset, tunnel.id, Bytes::new()))
            .await;
    }
}

/// Sends the stream of this end.
async fn send(tunnel: &Tunnel, mut reader: ReadHalf<DuplexStream>, route: &Route) {
    let part_bytes = route
        .client
        .max_payload()
        .saturating_sub(HEADER_BYTES)
        .clamp(1, PART_BYTES);
    for sequence in 0.. {
        // The semaphore is never closed.
        let Ok(least) = tunnel.credit.acquire_many(MIN_COST).await else {
            return;
        };
        let room = (MIN_PART_COST_BYTES + tunnel.credit.available_permits()).min(part_bytes);
        let mut part = BytesMut::with_capacity(room);
        let read = (&mut reader).take(room as u64).read_buf(&mut part).await;
        let length = read.unwrap_or(0);
        let kind = if length == 0 { Kind::End } else { Kind::Data };
        if kind == Kind::Data {
            least.forget();
            tunnel
                .credit
                .forget_permits(cost(length) - MIN_PART_COST_BYTES);
        } else {
            drop(least);
        }
        let frame = Frame {
            kind,
            tunnel: tunnel.id,
            sequence,
            payload: part.freeze(),
        };
        route.send(&frame).await;
        if kind == Kind::End {
            return;
        }
    }
}

/// Writes the stream of the other end, and reports what is consumed.
async fn receive(
    tunnel: &Tunnel,
    mut writer: WriteHalf<DuplexStream>,
    mut parts: mpsc::UnboundedReceiver<Incoming>,
    route: &Route,
) {
    let mut consumed = 0;
    while let Some(Incoming::Data(part)) = parts.recv().await {
        if writer.write_all(&part).await.is_err() {
            return;
        }
        tunnel.unread.fetch_sub(cost(part.len()), Ordering::Relaxed);
        consumed += cost(part.len());
        if consumed >= REPORT_BYTES {
            let bytes = u32::try_from(consumed).unwrap_or(u32::MAX);
            let payload = Bytes::copy_from_slice(&bytes.to_be_bytes());
            route
                .send(&Frame::control(Kind::Window, tunnel.id, payload))
                .await;
            consumed = 0;
        }
    }
    // The other end of the stream may have been dropped.
    let _ = writer.shutdown().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: TunnelId = TunnelId {
        epoch: 1,
        number: 2,
    };

    fn frame(kind: Kind, sequence: u32, payload: &[u8]) -> Frame {
        Frame {
            kind,
            tunnel: ID,
            sequence,
            payload: Bytes::copy_from_slice(payload),
        }
    }

    /// The number of parts that a tunnel keeps of these messages, and whether it is still open.
    fn kept(frames: impl Iterator<Item = Frame>) -> (usize, bool) {
        let (tunnel, parts) = Tunnel::new(ID, "peer");
        for frame in frames {
            tunnel.receive(frame);
        }
        (parts.len(), !tunnel.closed.is_cancelled())
    }

    #[test]
    fn parts_that_are_not_read_are_bounded_in_bytes_and_number() {
        let all = WINDOW_BYTES / PART_BYTES;
        let large = |number| frame(Kind::Data, number, &[0; PART_BYTES]);
        assert_eq!(kept((0..all as u32).map(large)), (all, true));
        assert_eq!(kept((0..1000).map(large)), (all, false));
        let most = WINDOW_BYTES / MIN_PART_COST_BYTES;
        for payload in [&b""[..], b"a"] {
            let small = |number| frame(Kind::Data, number, payload);
            assert_eq!(kept((0..most as u32).map(small)), (most, true));
            assert_eq!(kept((0..10_000).map(small)), (most, false));
        }
        let end = |number| frame(Kind::End, number, b"");
        assert_eq!(kept((0..1000).map(end)), (1, false));
        assert_eq!(kept([frame(Kind::End, 0, b"a")].into_iter()), (0, false));
    }

    #[test]
    fn lost_repeated_and_late_parts_end_the_tunnel() {
        let data = |number| frame(Kind::Data, number, b"a");
        assert_eq!(kept([data(0), data(1)].into_iter()), (2, true));
        assert_eq!(kept([data(0), data(2)].into_iter()), (1, false));
        assert_eq!(kept([data(0), data(0)].into_iter()), (1, false));
        let late = [data(0), frame(Kind::End, 1, b""), data(2)];
        assert_eq!(kept(late.into_iter()), (2, false));
    }

    #[test]
    fn sender_cannot_be_given_more_than_the_window() {
        for (reported, is_open) in [
            (0, true),
            (1, false),
            (u32::MAX, false),
            (WINDOW_BYTES as u32, false),
        ] {
            let (tunnel, _parts) = Tunnel::new(ID, "peer");
            tunnel.receive(frame(Kind::Window, 0, &reported.to_be_bytes()));
            assert_eq!(!tunnel.closed.is_cancelled(), is_open, "{reported}");
        }
        let (tunnel, _parts) = Tunnel::new(ID, "peer");
        tunnel.receive(frame(Kind::Window, 0, b""));
        assert!(tunnel.closed.is_cancelled());
    }

    #[test]
    fn only_the_other_end_reaches_a_tunnel() {
        let tunnels = Tunnels::default();
        let (tunnel, parts) = Tunnel::new(ID, "web");
        let tunnel = Arc::new(tunnel);
        tunnels.all().insert(ID, tunnel.clone());
        for kind in [Kind::Data, Kind::End, Kind::Reset, Kind::Accept] {
            assert!(!tunnels.receive("web-2", frame(kind, 0, b"")));
        }
        tunnels.close_epoch("web-2", ID.epoch);
        assert!(!tunnel.closed.is_cancelled());
        assert_eq!(parts.len(), 0);
        assert!(tunnels.receive("web", frame(Kind::Data, 0, b"a")));
        assert_eq!(parts.len(), 1);
        tunnels.close_epoch("web", ID.epoch);
        assert!(tunnel.closed.is_cancelled());
    }
}

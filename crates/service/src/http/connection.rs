//! A connection whose client must read its answers, and receives an answer that comes early.
//!
//! A client that sends requests and never reads would keep its connection forever, so writing has a
//! minimum speed. Only the time in which the service waits for the client counts.
//!
//! A client that is still sending when its answer arrives, such as a large upload to an address
//! that does not exist, often reads nothing before it has sent everything. If the service closed
//! the connection with unread data, the kernel would discard the answer. So the service reads for a
//! while what the client still sends.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// How long the service waits in total for a client to receive `PACE_BYTES`.
pub const PACE_TIME: Duration = Duration::from_secs(30);
/// About 1 KiB each second.
const PACE_BYTES: u64 = 32 << 10;
/// How long the service reads after its last answer, in total and without any new data.
const LINGER_TIME: Duration = Duration::from_secs(10);
/// The second of these times.
pub const LINGER_IDLE_TIME: Duration = Duration::from_millis(500);
/// The maximum number of bytes that are read in this time.
const LINGER_BYTES: u64 = 64 << 20;
/// Number of bytes that are read at once.
const CHUNK_BYTES: usize = 16 << 10;

/// The client has not received its answers in time.
#[derive(Debug, thiserror::Error)]
#[error("the client reads too slowly")]
struct TooSlow;

/// A connection.
pub struct Connection<S> {
    stream: S,
    pace: Pace,
    timer: Option<Pin<Box<Sleep>>>,
    lingering: Option<Lingering>,
    /// How long the service reads at the end without any new data.
    idle_time: Duration,
}

/// The speed at which a client receives.
#[derive(Debug)]
struct Pace {
    time: Duration,
    left: Duration,
    missing: u64,
    /// When the service began to wait for the client.
    since: Option<Instant>,
}

/// The end of a connection, in which the service only reads.
#[derive(Debug)]
struct Lingering {
    end: Instant,
    left: u64,
}

impl Pace {
    fn new(time: Duration) -> Pace {
        Pace {
            time,
            left: time,
            missing: PACE_BYTES,
            since: None,
        }
    }

    /// The service waits. Returns the time at which the client is too slow.
    fn wait(&mut self, now: Instant) -> Instant {
        *self.since.get_or_insert(now) + self.left
    }

    fn moved(&mut self, bytes: u64, now: Instant) {
        if let Some(since) = self.since.take() {
            self.left = self.left.saturating_sub(now.duration_since(since));
        }
        self.missing = self.missing.saturating_sub(bytes);
        if self.missing == 0 {
            *self = Pace::new(self.time);
        }
    }
}

impl<S> Connection<S> {
    /// A connection on which `time` passes until a client is too slow. After its last response, the
    /// client may be silent for `idle_time`.
    pub fn new(stream: S, time: Duration, idle_time: Duration) -> Connection<S> {
        Connection {
            stream,
            pace: Pace::new(time),
            timer: None,
            lingering: None,
            idle_time,
        }
    }

    /// Passes on how many bytes were written, or waits for the client.
    fn paced(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let now = Instant::now();
        if let Poll::Ready(written) = written {
            self.pace.moved(*written.as_ref().unwrap_or(&0) as u64, now);
            self.timer = None;
            return Poll::Ready(written);
        }
        let end = self.pace.wait(now);
        ready!(self.timer_until(end).poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, TooSlow)))
    }

    fn timer_until(&mut self, end: Instant) -> Pin<&mut Sleep> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(end)));
        if timer.deadline() != end {
            timer.as_mut().reset(end);
        }
        timer.as_mut()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.paced(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.paced(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Ends the answers, and then reads what the client still sends.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.lingering.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
            this.timer = None;
            this.lingering = Some(Lingering {
                end: Instant::now() + LINGER_TIME,
                left: LINGER_BYTES,
            });
        }
        let mut idle_end = None;
        loop {
            let mut chunk = [std::mem::MaybeUninit::uninit(); CHUNK_BYTES];
            let mut chunk = ReadBuf::uninit(&mut chunk);
            let read = Pin::new(&mut this.stream).poll_read(context, &mut chunk);
            let Some(lingering) = &mut this.lingering else {
                return Poll::Ready(Ok(()));
            };
            match read {
                Poll::Ready(Ok(())) if !chunk.filled().is_empty() => {
                    let read = chunk.filled().len() as u64;
                    lingering.left = lingering.left.saturating_sub(read);
                    if lingering.left == 0 || Instant::now() >= lingering.end {
                        return Poll::Ready(Ok(()));
                    }
                    let next = Instant::now() + this.idle_time;
                    idle_end = Some(next.min(lingering.end));
                }
                // The client has ended the connection.
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => {
                    let first = || Instant::now() + this.idle_time;
                    let end = match (idle_end, &this.timer) {
                        (Some(end), _) => end,
                        (None, Some(timer)) => timer.deadline(),
                        (None, None) => first(),
                    };
                    ready!(this.timer_until(end).poll(context));
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    async fn pair(time: Duration) -> (Connection<TcpStream>, TcpStream) {
        pair_with(time, LINGER_IDLE_TIME).await
    }

    async fn pair_with(time: Duration, idle_time: Duration) -> (Connection<TcpStream>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await;
        let (stream, _) = listener.accept().await.unwrap();
        (Connection::new(stream, time, idle_time), client.unwrap())
    }

    #[tokio::test]
    async fn client_that_never_reads_is_disconnected() {
        let (mut connection, _client) = pair(Duration::from_millis(50)).await;
        let large = vec![0; 64 << 20];
        let error = connection.write_all(&large).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn client_that_reads_receives_everything() {
        let (mut connection, mut client) = pair(PACE_TIME).await;
        let large = vec![1; 8 << 20];
        let length = large.len();
        let sending = tokio::spawn(async move {
            connection.write_all(&large).await?;
            connection.shutdown().await
        });
        let mut received = Vec::new();
        client.read_to_end(&mut received).await.unwrap();
        assert_eq!(received.len(), length);
        drop(client);
        sending.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn answer_reaches_a_client_that_is_still_sending() {
        // On a busy machine, this client may stall for longer than a usual idle time.
        let idle_time = Duration::from_secs(10);
        let (mut connection, mut client) = pair_with(PACE_TIME, idle_time).await;
        let answering = tokio::spawn(async move {
            connection.write_all(b"no").await?;
            connection.shutdown().await
        });
        client.write_all(&vec![0; 32 << 20]).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "no");
        drop(client);
        answering.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn endless_and_silent_clients_are_left() {
        let (mut connection, client) = pair(PACE_TIME).await;
        connection.shutdown().await.unwrap();
        drop(client);
        let (mut connection, mut client) = pair(PACE_TIME).await;
        let ending = tokio::spawn(async move { connection.shutdown().await });
        let piece = vec![0; 1 << 20];
        let mut sent = 0;
        while client.write_all(&piece).await.is_ok() {
            sent += piece.len() as u64;
            assert!(sent < 4 * LINGER_BYTES, "the service reads forever");
        }
        ending.await.unwrap().unwrap();
    }
}

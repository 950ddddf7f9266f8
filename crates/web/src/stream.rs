//! A connection whose client must read its responses, and receives a response that comes early.
//!
//! A client that sends requests and never reads would keep its connection forever, so writing has a
//! minimum speed.
//!
//! A client that is still sending when its response arrives, such as a large upload to a path that
//! does not exist, often reads nothing before it has sent everything. If the server closed the
//! connection with unread data, the kernel would reset the connection as soon as more data arrived,
//! and the client would lose the response. So the server reads for a while what the client still
//! sends.

use crate::pace::{Pacer, Speed};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// The time for which the server keeps reading after its last response without any new data.
pub const FAREWELL_SILENCE: Duration = Duration::from_secs(1);
/// The longest time for which the server keeps reading while data arrives.
const MAX_FAREWELL_TIME: Duration = Duration::from_secs(30);
/// Bytes that earn the client a further second.
const FAREWELL_SPEED: u64 = 256 << 10;
/// The maximum number of bytes that are read. The largest body of a program is half of it.
const FAREWELL_BYTES: u64 = 256 << 20;
/// Number of bytes that are read at once.
const CHUNK_BYTES: usize = 16 << 10;

/// A connection.
pub struct Connection<S> {
    stream: S,
    pacer: Pacer,
    /// The last response was sent, and the rest of the request is read.
    farewell: Option<Farewell>,
    silence: Duration,
}

/// The end of a connection, in which the server only reads. It ends after a silence, after a time
/// that a client extends by sending fast, and after a number of bytes.
struct Farewell {
    timer: Pin<Box<Sleep>>,
    begin: Instant,
    bytes: u64,
    silence: Duration,
}

impl Farewell {
    fn new(silence: Duration) -> Farewell {
        let begin = Instant::now();
        Farewell {
            timer: Box::pin(sleep_until(begin + silence)),
            begin,
            bytes: 0,
            silence,
        }
    }

    /// Counts what has arrived. Returns whether more may arrive.
    fn arrived(&mut self, bytes: usize) -> bool {
        self.bytes += u64::try_from(bytes).unwrap_or(u64::MAX);
        let earned = Duration::from_secs(self.bytes / FAREWELL_SPEED);
        let end = self.begin + (self.silence + earned).min(MAX_FAREWELL_TIME);
        let now = Instant::now();
        self.timer.as_mut().reset(end.min(now + self.silence));
        self.bytes < FAREWELL_BYTES && now < end
    }
}

impl<S> Connection<S> {
    /// Creates a connection whose client must receive with a minimum speed. After its last
    /// response, the client may be silent for a while, usually for [`FAREWELL_SILENCE`].
    pub fn new(stream: S, speed: Speed, silence: Duration) -> Connection<S> {
        Connection {
            stream,
            pacer: Pacer::new(speed),
            farewell: None,
            silence,
        }
    }

    /// Passes on how many bytes were written, or waits for the client.
    fn paced(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let bytes = |written: &io::Result<usize>| *written.as_ref().unwrap_or(&0);
        let paced = ready!(self.pacer.poll(context, written, bytes));
        Poll::Ready(
            paced.unwrap_or_else(|too_slow| Err(io::Error::new(io::ErrorKind::TimedOut, too_slow))),
        )
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

    // A socket has no buffer of its own to flush.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Ends the responses, and then reads what the client still sends.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let farewell = match &mut this.farewell {
            Some(farewell) => farewell,
            None => {
                ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
                this.farewell.insert(Farewell::new(this.silence))
            }
        };
        loop {
            let mut chunk = [MaybeUninit::uninit(); CHUNK_BYTES];
            let mut chunk = ReadBuf::uninit(&mut chunk);
            match Pin::new(&mut this.stream).poll_read(context, &mut chunk) {
                Poll::Ready(Ok(())) if !chunk.filled().is_empty() => {
                    if !farewell.arrived(chunk.filled().len()) {
                        return Poll::Ready(Ok(()));
                    }
                }
                // The client has ended the connection.
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => {
                    ready!(farewell.timer.as_mut().poll(context));
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::SPEED;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    async fn pair(time: Duration) -> (Connection<TcpStream>, TcpStream) {
        pair_with(time, FAREWELL_SILENCE).await
    }

    async fn pair_with(time: Duration, silence: Duration) -> (Connection<TcpStream>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await;
        let (stream, _) = listener.accept().await.unwrap();
        let speed = Speed { time, ..SPEED };
        (Connection::new(stream, speed, silence), client.unwrap())
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
        let (mut connection, mut client) = pair(SPEED.time).await;
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
    async fn response_reaches_a_client_that_is_still_sending() {
        // On a busy machine, this client may stall for longer than usual.
        let silence = Duration::from_secs(10);
        let (mut connection, mut client) = pair_with(SPEED.time, silence).await;
        let responding = tokio::spawn(async move {
            connection.write_all(b"no").await?;
            connection.shutdown().await
        });
        client.write_all(&vec![0; 32 << 20]).await.unwrap();
        let mut response = String::new();
        client.read_to_string(&mut response).await.unwrap();
        assert_eq!(response, "no");
        drop(client);
        responding.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn endless_and_silent_clients_are_left() {
        let (mut connection, client) = pair(SPEED.time).await;
        connection.shutdown().await.unwrap();
        drop(client);
        let (mut connection, mut client) = pair(SPEED.time).await;
        let ending = tokio::spawn(async move { connection.shutdown().await });
        let piece = vec![0; 1 << 20];
        let mut sent = 0;
        while client.write_all(&piece).await.is_ok() {
            sent += piece.len() as u64;
            assert!(sent < 4 * FAREWELL_BYTES, "the server reads forever");
        }
        ending.await.unwrap().unwrap();
    }
}

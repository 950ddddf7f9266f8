//! A socket that a connection shares with the watch of its client.
//!
//! A client may end its half of the connection after its request, and still read the response
//! (RFC 9293, section 3.6): `nc -N` and clients that are made of a pipe do. The end of a half looks
//! the same as the end of a client that has left, until the server sends something: the kernel of a
//! client that has left then reports an error. Without that difference, either clients of the
//! first kind would get no response, or programs would run for clients that have left.
//!
//! So the watch sends bytes that belong to the response in any case ([`Probe`]), one at a time and
//! at growing intervals.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// The beginning of every response.
const HEAD: &[u8] = b"HTTP/1.";
/// The times after the bytes of a watch. A client that leaves later is noticed with the next byte.
const PAUSES: [Duration; HEAD.len()] = [
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_millis(1500),
    Duration::from_secs(5),
    Duration::from_secs(20),
    Duration::from_secs(80),
    Duration::from_secs(300),
];
/// The interval at which the watch looks for the end of a client that sends more than its request.
const INTERVAL: Duration = Duration::from_millis(100);

/// A connected stream socket, with functions that need no exclusive access.
pub trait Socket: Send + Sync + Unpin + 'static {
    /// Waits until the socket may have data.
    fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;
    /// Waits until the socket may have room.
    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;
    /// Reads without waiting.
    fn try_read(&self, buffer: &mut ReadBuf<'_>) -> io::Result<usize>;
    /// Writes without waiting.
    fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize>;
    /// Ends the server's half of the connection.
    fn end_writing(&self) -> io::Result<()>;
    /// Waits until there is something to read, which stays. Returns whether it is the end.
    fn is_at_end(&self) -> impl Future<Output = io::Result<bool>> + Send;
    /// Waits until the connection has failed.
    fn failure(&self) -> impl Future<Output = ()> + Send;
}

macro_rules! socket {
    ($kind:ident) => {
        impl Socket for $kind {
            fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                $kind::poll_read_ready(self, context)
            }

            fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                $kind::poll_write_ready(self, context)
            }

            fn try_read(&self, buffer: &mut ReadBuf<'_>) -> io::Result<usize> {
                $kind::try_read_buf(self, buffer)
            }

            fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
                match parts {
                    [part] => $kind::try_write(self, part),
                    _ => $kind::try_write_vectored(self, parts),
                }
            }

            fn end_writing(&self) -> io::Result<()> {
                use rustix::net::{Shutdown, shutdown};
                match shutdown(self, Shutdown::Write) {
                    // The client has reset the connection.
                    Ok(()) | Err(rustix::io::Errno::NOTCONN) => Ok(()),
                    Err(errno) => Err(errno.into()),
                }
            }

            async fn is_at_end(&self) -> io::Result<bool> {
                use rustix::net::{RecvFlags, recv};
                let look = || {
                    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
                    let (length, _) = recv(self, &mut [0; 1], flags)?;
                    Ok(length == 0)
                };
                self.async_io(Interest::READABLE, look).await
            }

            async fn failure(&self) {
                let _ = self.ready(Interest::ERROR).await;
            }
        }
    };
}

socket!(TcpStream);
socket!(UnixStream);

/// What a watch may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// The beginning of the response, which is then omitted from the response.
    Head,
    /// Zeros before the size of the next chunk (RFC 9112, section 7.1), of which clients accept at
    /// least 16 digits.
    Chunk,
    /// Nothing. Only a failed connection shows that the client has left.
    None,
}

/// A shared socket. All clones are one socket.
#[derive(Debug)]
pub struct Shared<S>(Arc<Inner<S>>);

#[derive(Debug)]
struct Inner<S> {
    socket: S,
    /// The number of bytes of [`HEAD`] that were sent before the response.
    sent: AtomicUsize,
    /// Whether everything that was written so far is complete: a head, a body or a chunk.
    is_complete: AtomicBool,
}

impl<S> Clone for Shared<S> {
    fn clone(&self) -> Shared<S> {
        Shared(self.0.clone())
    }
}

impl<S: Socket> Shared<S> {
    /// Shares a socket.
    pub fn new(socket: S) -> Shared<S> {
        Shared(Arc::new(Inner {
            socket,
            sent: AtomicUsize::new(0),
            is_complete: AtomicBool::new(true),
        }))
    }

    /// Announces a response. Until its head is sent, no watch sends anything.
    pub fn begin_response(&self) {
        self.0.is_complete.store(false, Relaxed);
    }

    /// Waits until the client has left. A client that has only ended its half has not.
    ///
    /// The task that writes to the connection must be the one that waits, because what the watch
    /// sends must not appear inside of what that task sends.
    pub async fn left(&self, probe: Probe) {
        let socket = &self.0.socket;
        loop {
            match socket.is_at_end().await {
                Ok(true) => break,
                // The rest of the request, or the next request.
                Ok(false) => tokio::time::sleep(INTERVAL).await,
                Err(_) => return,
            }
        }
        for pause in PAUSES {
            if self.send(probe).is_err() {
                return;
            }
            tokio::select! {
                () = socket.failure() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
        socket.failure().await;
    }

    fn send(&self, probe: Probe) -> io::Result<()> {
        let sent = self.0.sent.load(Relaxed);
        let byte = match probe {
            Probe::Head => HEAD.get(sent),
            Probe::Chunk => Some(&b'0'),
            Probe::None => None,
        };
        let Some(byte) = byte.filter(|_| self.0.is_complete.load(Relaxed)) else {
            return Ok(());
        };
        match self.0.socket.try_write(&[IoSlice::new(&[*byte])]) {
            Ok(written) => {
                if probe == Probe::Head {
                    self.0.sent.store(sent + written, Relaxed);
                }
                Ok(())
            }
            // The client does not read, but its kernel has the data.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn write(&self, context: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let Inner {
            socket,
            sent,
            is_complete,
        } = &*self.0;
        is_complete.store(false, Relaxed);
        let early = sent.load(Relaxed);
        if early > 0 {
            // The response begins with the bytes that were sent before it.
            let length = parts.iter().map(|part| part.len()).sum::<usize>();
            let omitted = early.min(length);
            sent.store(early - omitted, Relaxed);
            return Poll::Ready(Ok(omitted));
        }
        loop {
            ready!(socket.poll_write_ready(context))?;
            match socket.try_write(parts) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }
}

impl<S: Socket> AsyncRead for Shared<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let socket = &self.0.socket;
        loop {
            ready!(socket.poll_read_ready(context))?;
            match socket.try_read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read.map(drop)),
            }
        }
    }
}

impl<S: Socket> AsyncWrite for Shared<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Called when the connection has written everything. A socket has no buffer of its own.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.is_complete.store(true, Relaxed);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.0.socket.end_writing())
    }
}

//! Terminals of commands.

use super::error::GroupError;
use bytes::{Buf, Bytes, BytesMut};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::Winsize;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

/// Number of bytes that are read with one system call.
const CHUNK_BYTES: usize = 16 << 10;
/// The character that ends the input (`VEOF` in termios(3)).
const END_OF_INPUT: u8 = 4;

/// What a terminal receives.
#[derive(Debug)]
pub enum TerminalInput {
    /// Keystrokes.
    Bytes(Bytes),
    /// A new size.
    Resize(Winsize),
}

/// Input and output of a terminal.
#[derive(Debug)]
pub struct TerminalChannel {
    /// What the client sends.
    pub input: mpsc::Receiver<TerminalInput>,
    /// What the command writes.
    pub output: mpsc::Sender<Bytes>,
}

/// The service's side of a terminal.
#[derive(Debug)]
pub struct Terminal {
    controller: AsyncFd<OwnedFd>,
}

impl Terminal {
    /// Opens a terminal, and returns it with the command's side.
    pub fn open() -> Result<(Terminal, OwnedFd), GroupError> {
        let failed = GroupError::system("open a terminal");
        let open = || -> io::Result<(Terminal, OwnedFd)> {
            let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
            let controller = openpt(flags)?;
            grantpt(&controller)?;
            unlockpt(&controller)?;
            let name = ptsname(&controller, Vec::new())?;
            let flags =
                rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
            let command = rustix::fs::open(name, flags, rustix::fs::Mode::empty())?;
            rustix::io::ioctl_fionbio(&controller, true)?;
            #[allow(
                deprecated,
                reason = "the replacement is unsafe; an OwnedFd stays open"
            )]
            let controller = AsyncFd::new(controller)?;
            Ok((Terminal { controller }, command))
        };
        open().map_err(failed)
    }

    /// Passes input and output on until the command has closed the terminal.
    pub async fn run(
        self,
        mut input: mpsc::Receiver<TerminalInput>,
        output: mpsc::Sender<Bytes>,
    ) -> Result<(), GroupError> {
        let mut pending: VecDeque<Bytes> = VecDeque::new();
        let mut has_input = true;
        loop {
            tokio::select! {
                read = self.read() => match read.map_err(GroupError::system("read a terminal"))? {
                    // The result does not matter if the client has disconnected.
                    Some(bytes) => drop(output.send(bytes).await),
                    None => return Ok(()),
                },
                message = input.recv(), if has_input && pending.is_empty() => match message {
                    Some(TerminalInput::Bytes(bytes)) => pending.push_back(bytes),
                    // A closed terminal has no size.
                    Some(TerminalInput::Resize(size)) => {
                        let _ = rustix::termios::tcsetwinsize(self.controller.get_ref(), size);
                    }
                    None => has_input = false,
                },
                // A closed terminal accepts no input. The branch that reads notices the end.
                written = self.write(&pending), if !pending.is_empty() => {
                    let written = written.unwrap_or(usize::MAX);
                    if let Some(first) = pending.front_mut() {
                        first.advance(written.min(first.len()));
                    }
                    pending.retain(|bytes| !bytes.is_empty());
                },
            }
        }
    }

    /// The next output; `None` if the command has closed the terminal.
    async fn read(&self) -> io::Result<Option<Bytes>> {
        let read = self.controller.async_io(Interest::READABLE, |terminal| {
            let mut chunk = BytesMut::zeroed(CHUNK_BYTES);
            let length = rustix::io::read(terminal, &mut chunk[..])?;
            chunk.truncate(length);
            Ok(chunk.freeze())
        });
        match read.await {
            Ok(bytes) => Ok(Some(bytes).filter(|bytes| !bytes.is_empty())),
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    async fn write(&self, pending: &VecDeque<Bytes>) -> io::Result<usize> {
        let Some(first) = pending.front() else {
            return Ok(0);
        };
        let write = |terminal: &OwnedFd| Ok(rustix::io::write(terminal, first)?);
        self.controller.async_io(Interest::WRITABLE, write).await
    }
}

/// Content as keystrokes, followed by the end of input.
pub fn typed(content: &Bytes) -> Bytes {
    let mut bytes = BytesMut::from(&content[..]);
    if !content.is_empty() && !content.ends_with(b"\n") {
        // The first character only ends the unfinished line.
        bytes.extend_from_slice(&[END_OF_INPUT]);
    }
    bytes.extend_from_slice(&[END_OF_INPUT]);
    bytes.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_content_ends_its_last_line_and_the_input() {
        assert_eq!(typed(&"a".into()), "a\u{4}\u{4}");
        assert_eq!(typed(&"a\n".into()), "a\n\u{4}");
        assert_eq!(typed(&Bytes::new()), "\u{4}");
    }
}

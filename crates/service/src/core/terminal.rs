//! A terminal between a client and a program: a pseudoterminal, one end of which the program uses.

use bytes::{Bytes, BytesMut};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::io;
use std::os::fd::OwnedFd;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Number of bytes that are read with one system call.
const CHUNK_BYTES: usize = 4096;

/// The size of a terminal before a client sets it.
pub const DEFAULT_SIZE: Size = Size { rows: 24, cols: 80 };

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Lines.
    pub rows: u16,
    /// Characters of a line.
    pub cols: u16,
}

/// The client's end of a terminal.
#[derive(Debug)]
pub struct Terminal {
    master: AsyncFd<OwnedFd>,
}

impl Terminal {
    /// Opens a terminal, and returns it with the end for the program. Must be called on a thread of
    /// the runtime.
    ///
    /// # Errors
    /// The kernel has run out of terminals, or the process has run out of descriptors.
    pub fn open(size: Size) -> io::Result<(Terminal, OwnedFd)> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags)?;
        unlockpt(&master)?;
        let program_end = ioctl_tiocgptpeer(&master, flags)?;
        fcntl_setfl(&master, fcntl_getfl(&master)? | OFlags::NONBLOCK)?;
        #[expect(
            deprecated,
            reason = "an OwnedFd stays open, as the unsafe replacement requires"
        )]
        let master = AsyncFd::new(master)?;
        let terminal = Terminal { master };
        terminal.resize(size)?;
        Ok((terminal, program_end))
    }

    /// Sets the size. The kernel notifies the program with SIGWINCH.
    ///
    /// # Errors
    /// The system call fails.
    pub fn resize(&self, size: Size) -> io::Result<()> {
        let size = Winsize {
            ws_row: size.rows,
            ws_col: size.cols,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        Ok(tcsetwinsize(self.master.get_ref(), size)?)
    }

    /// Reads what the program wrote; `None` when no process has the terminal open.
    ///
    /// # Errors
    /// The system call fails.
    pub async fn read(&self) -> io::Result<Option<Bytes>> {
        let mut chunk = BytesMut::zeroed(CHUNK_BYTES);
        let read = |master: &OwnedFd| Ok(rustix::io::read(master, &mut chunk[..])?);
        match self.master.async_io(Interest::READABLE, read).await {
            Ok(0) => Ok(None),
            Ok(length) => {
                chunk.truncate(length);
                Ok(Some(chunk.freeze()))
            }
            Err(error) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes what the client typed.
    ///
    /// # Errors
    /// No process has the terminal open.
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let write = |master: &OwnedFd| Ok(rustix::io::write(master, bytes)?);
            let written = self.master.async_io(Interest::WRITABLE, write).await?;
            bytes = &bytes[written..];
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, Write};

    #[tokio::test]
    async fn terminal_passes_bytes_in_both_directions_and_has_a_size() {
        let (terminal, program_end) = Terminal::open(DEFAULT_SIZE).unwrap();
        terminal.resize(Size { rows: 5, cols: 33 }).unwrap();
        let size = rustix::termios::tcgetwinsize(&program_end).unwrap();
        assert_eq!((size.ws_row, size.ws_col), (5, 33));
        let program_end = std::fs::File::from(program_end);
        let program = std::thread::spawn(move || {
            let mut line = String::new();
            let mut reader = std::io::BufReader::new(&program_end);
            reader.read_line(&mut line).unwrap();
            (&program_end).write_all(b"answer").unwrap();
            line
        });
        terminal.write_all(b"question\n").await.unwrap();
        assert_eq!(program.join().unwrap(), "question\n");
        let mut all = Vec::new();
        while let Some(bytes) = terminal.read().await.unwrap() {
            all.extend_from_slice(&bytes);
        }
        let text = String::from_utf8(all).unwrap();
        // The terminal echoes the input.
        assert_eq!(text, "question\r\nanswer");
    }
}

//! Files of a run. `millibox-stage` unpacks them inside the sandbox, with the rights and within the
//! limits of the run.

use millibox_stage::{Answer, Failure, Instructions, Step, receive, send};
use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};

/// The connection to the `millibox-stage` of a run.
pub struct Staging {
    socket: OwnedFd,
    /// The program that is executed after the files are in place.
    program: String,
}

impl Staging {
    /// Sends standard input and a tar archive, which wait in the socket until the run starts.
    /// Also returns the run's end of the socket.
    pub fn begin(
        program: String,
        stdin: Option<&[u8]>,
        archive: &[u8],
    ) -> io::Result<(Staging, OwnedFd)> {
        let (socket, end) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        fcntl_setfl(&socket, OFlags::NONBLOCK)?;
        let instructions = Instructions {
            extra_descriptors: 0,
            has_archive: true,
            terminal: false,
        };
        let stdin = match stdin {
            Some(bytes) => in_memory(bytes)?,
            None => File::open("/dev/null")?.into(),
        };
        let archive = in_memory(archive)?;
        send(&socket, &instructions, &[stdin.as_fd(), archive.as_fd()])?;
        Ok((Staging { socket, program }, end))
    }

    /// Why the program of an ended run was not executed.
    pub fn failure(&self) -> Option<String> {
        while let Ok(Some((answer, _))) = receive(&self.socket, true) {
            if let Answer::Failed(Failure { step, errno }) = answer {
                let what = match step {
                    Step::Execute => format!("cannot execute {}", self.program),
                    _ => "cannot unpack the files".to_owned(),
                };
                return Some(match errno.map(io::Error::from_raw_os_error) {
                    Some(error) => format!("{what}: {error}"),
                    None => what,
                });
            }
        }
        None
    }
}

/// A file in memory with these bytes, to be read from its beginning.
fn in_memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(rustix::fs::memfd_create("millibox", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

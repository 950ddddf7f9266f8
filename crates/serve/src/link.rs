//! The socket between the root process, which starts supervisors, and the unprivileged service.
//!
//! The service sends a request of a fixed length, which contains numbers only. The answer is one
//! byte with the three descriptors of a supervisor, or a string with the reason for the failure.

use millibox::{LaunchOptions, Launched, Launcher};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

/// Size of a request in bytes: slots, runners per slot, flags, and a bit for each CPU.
pub const REQUEST_BYTES: usize = 4 + 4 + 1 + CPU_BYTES;
const CPU_BYTES: usize = 128;
/// Flags of a request.
const PIN: u8 = 1;
const HAS_CPUS: u8 = 2;
/// The first byte of an answer.
const STARTED: u8 = 0;
const REFUSED: u8 = 1;
/// Maximum size of an answer in bytes. Longer strings are truncated.
const ANSWER_BYTES: usize = 4096;

/// The service's end.
#[derive(Debug)]
pub struct Link {
    /// The lock is held from a request to its answer.
    socket: Mutex<OwnedFd>,
}

impl Link {
    /// Takes over the socket.
    pub fn new(socket: OwnedFd) -> Link {
        Link {
            socket: Mutex::new(socket),
        }
    }
}

impl Launcher for Link {
    fn launch(&self, options: &LaunchOptions) -> io::Result<Launched> {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        rustix::net::send(&*socket, &encode(options)?, SendFlags::NOSIGNAL)?;
        let mut bytes = [0; ANSWER_BYTES];
        let (length, mut descriptors) = receive(&*socket, &mut bytes)?;
        match (&bytes[..length], descriptors.len()) {
            ([STARTED], 3) => {
                let mut next = || descriptors.remove(0);
                Ok(Launched {
                    socket: next(),
                    stderr: next(),
                    process: next(),
                })
            }
            ([REFUSED, text @ ..], _) => Err(io::Error::other(String::from_utf8_lossy(text))),
            _ => Err(io::Error::other("the process that starts it has ended")),
        }
    }
}

/// Sends a supervisor to the service. Does not wait: a service that reads no answers has a bug.
///
/// # Errors
/// The service has ended, or reads no answers.
pub fn send_started(socket: impl AsFd, launched: &Launched) -> io::Result<()> {
    let descriptors = [
        launched.socket.as_fd(),
        launched.stderr.as_fd(),
        launched.process.as_fd(),
    ];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(socket, &[IoSlice::new(&[STARTED])], &mut control, flags)?;
    Ok(())
}

/// Sends the reason why no supervisor was started.
///
/// # Errors
/// The service has ended, or reads no answers.
pub fn send_refused(socket: impl AsFd, reason: &str) -> io::Result<()> {
    let mut answer = vec![REFUSED];
    answer.extend(reason.bytes().take(ANSWER_BYTES - 1));
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    rustix::net::send(socket, &answer, flags)?;
    Ok(())
}

/// Receives a request. `None` if the service has closed the socket.
///
/// # Errors
/// The message is not a request.
pub fn receive_request(socket: impl AsFd) -> io::Result<Option<LaunchOptions>> {
    // One byte more, so that a longer message is noticed.
    let mut bytes = [0; REQUEST_BYTES + 1];
    let flags = RecvFlags::DONTWAIT;
    match rustix::net::recv(socket, &mut bytes[..], flags) {
        Ok((_, 0)) | Err(Errno::CONNRESET) => Ok(None),
        Ok((_, REQUEST_BYTES)) => Ok(Some(decode(&bytes))),
        Ok(_) => Err(io::ErrorKind::InvalidData.into()),
        Err(errno) => Err(errno.into()),
    }
}

fn receive(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut parts = [IoSliceMut::new(bytes)];
        match recvmsg(&socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    Ok((received.bytes, descriptors))
}

fn encode(options: &LaunchOptions) -> io::Result<[u8; REQUEST_BYTES]> {
    let number = |value: Option<usize>| {
        let value = u32::try_from(value.unwrap_or(0));
        value.map(u32::to_le_bytes).map_err(io::Error::other)
    };
    let mut bytes = [0; REQUEST_BYTES];
    bytes[..4].copy_from_slice(&number(options.slots)?);
    bytes[4..8].copy_from_slice(&number(options.runners_per_slot)?);
    if options.pin_slots {
        bytes[8] |= PIN;
    }
    if let Some(cpus) = &options.cpus {
        bytes[8] |= HAS_CPUS;
        for cpu in cpus {
            let byte = bytes[9..].get_mut(cpu / 8);
            *byte.ok_or(io::ErrorKind::InvalidInput)? |= 1 << (cpu % 8);
        }
    }
    Ok(bytes)
}

/// All values are accepted here. The builder checks them.
fn decode(bytes: &[u8]) -> LaunchOptions {
    let number = |at: usize| {
        let word = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        Some(u32::from_le_bytes(word) as usize).filter(|number| *number > 0)
    };
    let cpus = (0..CPU_BYTES * 8).filter(|cpu| bytes[9 + cpu / 8] & 1 << (cpu % 8) != 0);
    LaunchOptions {
        slots: number(0),
        runners_per_slot: number(4),
        pin_slots: bytes[8] & PIN != 0,
        cpus: (bytes[8] & HAS_CPUS != 0).then(|| cpus.collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_keep_their_numbers() {
        let all = [
            LaunchOptions::default(),
            LaunchOptions {
                slots: Some(512),
                runners_per_slot: Some(4),
                pin_slots: true,
                cpus: Some(vec![0, 9, 1023]),
            },
            LaunchOptions {
                cpus: Some(Vec::new()),
                ..LaunchOptions::default()
            },
        ];
        for options in all {
            assert_eq!(decode(&encode(&options).unwrap()), options);
        }
        let beyond = LaunchOptions {
            cpus: Some(vec![1024]),
            ..LaunchOptions::default()
        };
        assert!(encode(&beyond).is_err());
    }
}

//! Passes files to and from a run without a directory on the host.
//!
//! The program `millibox-stage` is executed in the sandbox in place of the requested program. Its
//! standard input is a socket. It
//!
//! 1. receives the program's additional descriptors, its standard input and a tar archive,
//! 2. unpacks the archive, whose paths are relative to the root; usually all of them are in the
//!    working directory, which is a tmpfs of the run,
//! 3. sends back descriptors of the working directory and of /tmp, through which the caller reads
//!    files after the run, when no process of the run can change them any more,
//! 4. installs the program's standard input and executes the program.
//!
//! All of this happens with the rights of the run and counts towards its limits, so neither the
//! archive nor this program needs to be trusted.
#![forbid(unsafe_code)]

mod files;

pub use files::stage;
use rustix::io::Errno;
use rustix::net::{
    AncillaryDrain, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The maximum number of descriptors in one message (`SCM_MAX_FD` in unix(7)).
pub const MAX_DESCRIPTORS: usize = 253;
/// The maximum size of a message in bytes. A message contains only a few numbers, and the buffer is
/// on the receiver's stack. The receiver may be a copy of a program, which should touch little
/// memory.
const MAX_MESSAGE_BYTES: usize = 64;

/// The task of `millibox-stage`. The descriptors are sent with it: first the program's additional
/// descriptors, in order of their numbers from 3 on, then its standard input, then the archive if
/// one is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    /// The number of additional descriptors for the program, from number 3 on.
    pub extra_descriptors: u8,
    /// Whether the last descriptor is a tar archive.
    pub has_archive: bool,
    /// Whether standard input is a terminal that becomes the controlling terminal.
    pub terminal: bool,
}

/// The answer of `millibox-stage`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The files are in place, and the program is executed next. A descriptor of the working
    /// directory is attached to this answer, and one of /tmp if that directory exists.
    Ready,
    /// A step failed, and the program was not executed.
    Failed(Failure),
}

/// The step that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The step.
    pub step: Step,
    /// The kernel's error number, if a system call failed.
    pub errno: Option<i32>,
}

/// A step of `millibox-stage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Receive the instructions.
    Receive,
    /// Unpack the files.
    Unpack,
    /// Put the descriptors in their places.
    Descriptors,
    /// Make the terminal the controlling terminal.
    Terminal,
    /// Execute the program.
    Execute,
}

/// Sends a message with descriptors.
///
/// # Errors
/// Returns the kernel's error, or `E2BIG` if the message is too large.
pub fn send(
    socket: impl AsFd,
    message: &impl Serialize,
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), Errno> {
    let body = postcard::to_stdvec(message).map_err(|_| Errno::INVAL)?;
    if body.len() > MAX_MESSAGE_BYTES || descriptors.len() > MAX_DESCRIPTORS {
        return Err(Errno::TOOBIG);
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    let slices = [IoSlice::new(&body)];
    loop {
        match sendmsg(&socket, &slices, &mut ancillary, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            sent => return sent.map(drop),
        }
    }
}

/// Receives a message with descriptors, which are closed on exec if `close_on_exec` is set. Returns
/// `None` if the other side has closed the socket.
///
/// # Errors
/// Returns the kernel's error, or `EBADMSG` if the message cannot be read.
pub fn receive<T: for<'de> Deserialize<'de>>(
    socket: impl AsFd,
    close_on_exec: bool,
) -> Result<Option<(T, Vec<OwnedFd>)>, Errno> {
    let mut body = [0; MAX_MESSAGE_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = if close_on_exec {
        RecvFlags::CMSG_CLOEXEC
    } else {
        RecvFlags::empty()
    };
    let received = loop {
        let mut slices = [IoSliceMut::new(&mut body)];
        match recvmsg(&socket, &mut slices, &mut ancillary, flags) {
            Err(Errno::INTR) => {}
            received => break received?,
        }
    };
    let descriptors = all_descriptors(ancillary.drain());
    if received.bytes == 0 {
        return Ok(None);
    }
    let message = postcard::from_bytes(&body[..received.bytes]).map_err(|_| Errno::BADMSG)?;
    Ok(Some((message, descriptors)))
}

fn all_descriptors(messages: AncillaryDrain<'_>) -> Vec<OwnedFd> {
    messages
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        })
        .flatten()
        .collect()
}

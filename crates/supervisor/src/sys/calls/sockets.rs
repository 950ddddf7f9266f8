//! Sockets: messages with descriptors, and the loopback interface.

use super::close;
use crate::sys::raw::syscall;
use crate::sys::{Errno, Result};

/// The maximum number of descriptors that [`receive`] accepts.
pub const MAX_RECEIVED: usize = 11;

/// A received message.
pub struct Received {
    /// The length of the message in bytes; 0 if the other side has closed the socket.
    pub length: usize,
    /// The attached descriptors, with `O_CLOEXEC`; -1 in unused places.
    pub descriptors: [i32; MAX_RECEIVED],
}

/// Space for a control message with at most [`MAX_RECEIVED`] descriptors. The kernel does not
/// install more descriptors than this.
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

const CONTROL: usize = size_of::<libc::cmsghdr>() + MAX_RECEIVED * size_of::<i32>();

/// recvmsg(2) of one message with its descriptors (unix(7), `SCM_RIGHTS`). Does not allocate.
pub fn receive(socket: i32, buffer: &mut [u8], flags: i32) -> Result<Received> {
    let mut control = Control([0; CONTROL]);
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: msghdr consists of numbers and pointers.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL as _;
    let length = loop {
        // SAFETY: the message names a writable buffer and a writable control buffer.
        match unsafe {
            syscall(
                libc::SYS_recvmsg,
                [
                    socket as usize,
                    &raw mut message as usize,
                    (flags | libc::MSG_CMSG_CLOEXEC) as usize,
                    0,
                    0,
                ],
            )
        } {
            Err(Errno(libc::EINTR)) => {}
            Err(errno) => return Err(errno),
            Ok(length) => break length,
        }
    };
    let mut received = Received {
        length,
        descriptors: [-1; MAX_RECEIVED],
    };
    // There is at most one control message: cmsghdr (length, level, type), then the descriptors.
    let header = size_of::<libc::cmsghdr>();
    if (message.msg_controllen as usize) >= header {
        let word = |at: usize| {
            let mut bytes = [0u8; 4];
            for (to, from) in bytes.iter_mut().zip(control.0.iter().skip(at)) {
                *to = *from;
            }
            i32::from_ne_bytes(bytes)
        };
        let end = (word(0) as usize).min(message.msg_controllen as usize);
        if word(8) == libc::SOL_SOCKET && word(12) == libc::SCM_RIGHTS {
            for (index, place) in received.descriptors.iter_mut().enumerate() {
                let at = header + index * 4;
                if at + 4 <= end {
                    *place = word(at);
                }
            }
        }
    }
    Ok(received)
}

/// sendmsg(2) of one message, without `SIGPIPE`.
pub fn send(socket: i32, bytes: &[u8]) -> Result<()> {
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: msghdr consists of numbers and pointers.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    // SAFETY: the message refers to a readable buffer only.
    unsafe {
        syscall(
            libc::SYS_sendmsg,
            [
                socket as usize,
                &raw const message as usize,
                libc::MSG_NOSIGNAL as usize,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// sendmsg(2) of one message with up to [`MAX_RECEIVED`] descriptors (unix(7), `SCM_RIGHTS`).
/// Raises no `SIGPIPE` and does not wait. If the buffer is full, the error is EAGAIN.
pub fn send_descriptors(socket: i32, bytes: &[u8], descriptors: &[i32]) -> Result<()> {
    send_parts(socket, [bytes], descriptors)
}

/// Like [`send_descriptors`] for a message in several parts.
pub fn send_parts<const N: usize>(
    socket: i32,
    parts: [&[u8]; N],
    descriptors: &[i32],
) -> Result<()> {
    if descriptors.len() > MAX_RECEIVED {
        return Err(Errno(libc::EINVAL));
    }
    let mut control = Control([0; CONTROL]);
    let header = size_of::<libc::cmsghdr>();
    let length = header + size_of_val(descriptors);
    let words = [
        (0, length as i32),
        (8, libc::SOL_SOCKET),
        (12, libc::SCM_RIGHTS),
    ];
    let rights = descriptors
        .iter()
        .enumerate()
        .map(|(index, &fd)| (header + 4 * index, fd));
    for (at, word) in words.into_iter().chain(rights) {
        for (to, from) in control.0.iter_mut().skip(at).zip(word.to_ne_bytes()) {
            *to = from;
        }
    }
    let mut parts = parts.map(|part| libc::iovec {
        iov_base: part.as_ptr().cast_mut().cast(),
        iov_len: part.len(),
    });
    // SAFETY: msghdr consists of numbers and pointers.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = N as _;
    if !descriptors.is_empty() {
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = length as _;
    }
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the message refers to readable buffers and to a control message of the given length.
    unsafe {
        syscall(
            libc::SYS_sendmsg,
            [
                socket as usize,
                &raw const message as usize,
                flags as usize,
                0,
                0,
            ],
        )
    }
    .map(drop)
}

/// A pair of connected sockets for messages (socketpair(2), AF_UNIX, `SOCK_SEQPACKET`), closed by
/// an exec. The first one receives the process id of each sender (unix(7), `SO_PASSCRED`).
pub fn socket_pair() -> Result<[i32; 2]> {
    let mut pair = [-1i32; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: the kernel writes two numbers.
    unsafe {
        syscall(
            libc::SYS_socketpair,
            [
                libc::AF_UNIX as usize,
                kind as usize,
                0,
                pair.as_mut_ptr() as usize,
                0,
            ],
        )
    }?;
    let yes = 1i32;
    // SAFETY: the kernel reads one number of the given size.
    unsafe {
        syscall(
            libc::SYS_setsockopt,
            [
                pair[0] as usize,
                libc::SOL_SOCKET as usize,
                libc::SO_PASSCRED as usize,
                &raw const yes as usize,
                size_of::<i32>(),
            ],
        )
    }?;
    Ok(pair)
}

/// recvmsg(2) of one message, with the process id of its sender as this process sees it (unix(7),
/// `SCM_CREDENTIALS`). The kernel fills in the process id. There is no room for descriptors, so the
/// kernel drops them.
pub fn receive_from(socket: i32, buffer: &mut [u8], flags: i32) -> Result<(usize, i32)> {
    const LENGTH: usize = size_of::<libc::cmsghdr>() + size_of::<libc::ucred>();
    #[repr(C, align(8))]
    struct Space([u8; LENGTH]);
    let mut control = Space([0; LENGTH]);
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: msghdr consists of numbers and pointers.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = LENGTH as _;
    // SAFETY: the message names a writable buffer and a writable control buffer.
    let length = unsafe {
        syscall(
            libc::SYS_recvmsg,
            [
                socket as usize,
                &raw mut message as usize,
                flags as usize,
                0,
                0,
            ],
        )
    }?;
    let word = |at: usize| {
        let mut bytes = [0u8; 4];
        for (to, from) in bytes.iter_mut().zip(control.0.iter().skip(at)) {
            *to = *from;
        }
        i32::from_ne_bytes(bytes)
    };
    let header = size_of::<libc::cmsghdr>();
    let is_credentials = message.msg_controllen as usize >= header
        && word(8) == libc::SOL_SOCKET
        && word(12) == libc::SCM_CREDENTIALS;
    Ok((length, if is_credentials { word(header) } else { 0 }))
}

/// Opens a socket that is closed by an exec (socket(2), `SOCK_CLOEXEC`).
pub fn socket(family: i32, kind: i32) -> Result<i32> {
    // SAFETY: all arguments are numbers.
    unsafe {
        syscall(
            libc::SYS_socket,
            [
                family as usize,
                (kind | libc::SOCK_CLOEXEC) as usize,
                0,
                0,
                0,
            ],
        )
    }
    .map(|fd| fd as i32)
}

/// Brings up the loopback interface of this network namespace (netdevice(7), `SIOCSIFFLAGS`).
pub fn loopback_up() -> Result<()> {
    // The kernel accepts the request at any socket, and a seccomp listener would hold a call that
    // creates a socket of another domain (crate::own_network).
    let socket = socket(libc::AF_UNIX, libc::SOCK_DGRAM)? as usize;
    // SAFETY: the arguments are numbers and an ifreq that is initialised and lives during the call.
    unsafe {
        let mut request: libc::ifreq = core::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = *from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
        let answer = syscall(
            libc::SYS_ioctl,
            [
                socket,
                libc::SIOCSIFFLAGS as usize,
                &raw const request as usize,
                0,
                0,
            ],
        );
        let _ = close(socket as i32);
        answer.map(drop)
    }
}

//! The one room for hand-written system calls and `unsafe`.
//!
//! Two kinds of code use the kernel here. Supervisor, keeper, template mounter
//! and a runner's own loop are ordinary processes: they use rustix. Zygote, pid1 and target
//! may share their runner's memory (`CLONE_VM`), so they may not allocate, lock, or
//! touch thread-local state (libc's errno, Rust's panic count): all they call is in
//! [`raw`] and [`calls`], which talk to the kernel and to nothing else.
//!
//! | file | what |
//! | --- | --- |
//! | `raw` | the system call instruction, for each architecture |
//! | `calls` | one safe function for each call that pid1 and target make, and for those that rustix lacks |
//! | `process` | fork, clone3 onto a stack of its own |
//! | `landlock` | which files may still be opened |
//! | `memory` | memory shared between processes, stacks |
//! | `ascii` | decimal numbers without allocation |

pub mod ascii;
pub mod calls;
pub mod landlock;
pub mod memory;
pub mod process;
mod raw;

pub use raw::set_pass;

/// An error number (errno(3)) straight from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// What was refused may be possible a moment later: somebody else has the memory, or the room
    /// in a queue (sendmsg(2), unix(7)).
    pub fn passes(self) -> bool {
        matches!(
            self.0,
            libc::EAGAIN | libc::ENOMEM | libc::ENOBUFS | libc::ETOOMANYREFS
        )
    }
}

impl From<rustix::io::Errno> for Errno {
    fn from(error: rustix::io::Errno) -> Errno {
        Errno(error.raw_os_error())
    }
}

impl From<std::io::Error> for Errno {
    fn from(error: std::io::Error) -> Errno {
        Errno(error.raw_os_error().unwrap_or(libc::EIO))
    }
}

/// Result of a system call.
pub type Result<T> = core::result::Result<T, Errno>;

/// Takes over a descriptor that came by number (from an exec, or from [`calls::receive`]).
///
/// `None` if it is not open.
pub fn adopt(fd: i32) -> Option<std::os::fd::OwnedFd> {
    use std::os::fd::FromRawFd;
    if fd < 0 || fd_flags(fd).is_none() {
        return None;
    }
    // SAFETY: it is open, and callers take each number once.
    Some(unsafe { std::os::fd::OwnedFd::from_raw_fd(fd) })
}

/// The descriptor's flags (fcntl(2), `F_GETFD`), if it is open.
pub fn fd_flags(fd: i32) -> Option<i32> {
    // SAFETY: numbers only.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    (flags >= 0).then_some(flags)
}

/// Borrows a descriptor that is known by number and kept open by somebody else for as
/// long as the supervisor runs.
pub fn borrow<'a>(fd: i32) -> std::os::fd::BorrowedFd<'a> {
    // SAFETY: see above; a number that is not open makes the kernel answer EBADF.
    unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) }
}

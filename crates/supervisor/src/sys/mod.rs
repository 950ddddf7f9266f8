//! Hand-written system calls, and all `unsafe` code.
//!
//! Two kinds of code use the kernel here. Supervisor, keeper, mounter and the main loop of a runner
//! are ordinary processes and use rustix. Zygote, pid1 and target may share their runner's memory
//! (`CLONE_VM`), so they must not allocate, lock or touch thread-local state (libc's errno, Rust's
//! panic count). They call only [`raw`] and [`calls`], which use nothing except the kernel.
//!
//! | file | content |
//! | --- | --- |
//! | `raw` | the system call instruction, for each architecture |
//! | `calls` | one safe function for each call that pid1 and target make, and for each call that rustix lacks |
//! | `process` | fork, and clone3 onto a new stack |
//! | `landlock` | restricts the files that a process may open |
//! | `memory` | memory shared between processes, stacks |
//! | `ascii` | decimal numbers without allocation |

pub mod ascii;
pub mod calls;
pub mod landlock;
pub mod memory;
pub mod process;
mod raw;

pub use raw::set_pass;
#[allow(unused_imports, reason = "for the library of prepared programs")]
pub use raw::thread_pointer;

/// An error number (errno(3)), as the kernel returns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// Whether a retry may succeed a moment later, because another process uses the memory or fills
    /// the queue only for a while (sendmsg(2), unix(7)).
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

/// Takes ownership of a descriptor that arrived as a number, from an exec or from
/// [`calls::receive`]. `None` if it is not open.
pub fn adopt(fd: i32) -> Option<std::os::fd::OwnedFd> {
    use std::os::fd::FromRawFd;
    if fd < 0 || fd_flags(fd).is_none() {
        return None;
    }
    // SAFETY: the descriptor is open, and callers pass each number once.
    Some(unsafe { std::os::fd::OwnedFd::from_raw_fd(fd) })
}

/// The flags of a descriptor (fcntl(2), `F_GETFD`); `None` if it is not open.
pub fn fd_flags(fd: i32) -> Option<i32> {
    // SAFETY: all arguments are numbers.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    (flags >= 0).then_some(flags)
}

/// Borrows a descriptor that is known by its number. The caller knows that another owner keeps it
/// open for as long as the supervisor runs.
pub fn borrow<'a>(fd: i32) -> std::os::fd::BorrowedFd<'a> {
    // SAFETY: the caller keeps the descriptor open, as described above. If the number is not open,
    // the kernel returns EBADF.
    unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) }
}

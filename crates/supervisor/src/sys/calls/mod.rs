//! The system calls that pid1 and target make: one safe function for each.
//!
//! Descriptors are plain numbers here. pid1 and target have descriptor tables of their own, which
//! the kernel discards when the process ends, so they close no descriptor that another process
//! owns.

mod clocks;
mod files;
mod mounts;
mod process;
mod rights;
mod scheduling;
mod sockets;

pub use clocks::*;
pub use files::*;
pub use mounts::*;
pub use process::*;
pub use rights::*;
pub use scheduling::*;
pub use sockets::*;

use super::Result;
use super::raw::syscall;

/// Declares wrappers for system calls whose arguments are numbers only.
macro_rules! numeric {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*) = $number:ident;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name($($arg: $type),*) -> Result<usize> {
            let mut args = [0usize; 5];
            let mut _next = args.iter_mut();
            $(if let Some(place) = _next.next() { *place = $arg as usize; })*
            // SAFETY: all arguments are numbers; the kernel accesses no memory of the process for
            // this call.
            unsafe { syscall(libc::$number, args) }
        }
    )*};
}

numeric! {
    /// close(2)
    close(fd: i32) = SYS_close;
    /// close_range(2), Linux 5.9; flag `CLOSE_RANGE_CLOEXEC` since 5.11
    close_range(first: u32, last: u32, flags: u32) = SYS_close_range;
    /// dup3(2)
    dup3(from: i32, to: i32, flags: i32) = SYS_dup3;
    #[allow(dead_code, reason = "for the library of prepared programs")]
    /// fcntl(2), for operations whose arguments are numbers
    fcntl(fd: i32, operation: i32, argument: usize) = SYS_fcntl;
    /// fchdir(2)
    fchdir(fd: i32) = SYS_fchdir;
    /// keyctl(2), for operations whose arguments are numbers
    keyctl(operation: i32, second: usize, third: usize) = SYS_keyctl;
    /// kill(2)
    kill(pid: i32, signal: i32) = SYS_kill;
    /// setsid(2)
    setsid() = SYS_setsid;
    /// umask(2)
    umask(mask: u32) = SYS_umask;
    /// unshare(2)
    unshare(flags: i32) = SYS_unshare;
    /// setns(2)
    setns(fd: i32, kind: i32) = SYS_setns;
    /// prctl(2), for options whose arguments are numbers
    prctl(option: i32, second: usize, third: usize, fourth: usize, fifth: usize) = SYS_prctl;
    /// personality(2)
    personality(persona: u32) = SYS_personality;
    /// ioprio_set(2)
    ioprio_set(which: u32, who: u32, priority: u32) = SYS_ioprio_set;
    /// set_mempolicy(2) without nodes: `nodes` and `max_node` are 0
    set_mempolicy(mode: u32, nodes: usize, most: usize) = SYS_set_mempolicy;
    /// setpriority(2)
    setpriority(which: u32, who: u32, nice: i32) = SYS_setpriority;
}

//! `libmillibox_ready.so`: the library with which a program announces that copies of it can serve
//! runs.
//!
//! A program of the world's owner, such as an interpreter with its modules, calls
//! [`millibox_ready`]. The process that calls it becomes the template, in which the function does
//! not return. The function returns once in each copy. docs/internals/prepared.md describes the
//! design.
//!
//! The template is confined like a run and has no capabilities. For each run it clones pid1 in its
//! own memory, because only a process with that memory can copy it. pid1 carries out the run's
//! mounts, forks the copy, waits for it and ends all processes of the run. pid1's parent is the
//! template's init process, which belongs to millibox and carries out all other work.
//!
//! The modules `sys`, `run_mounts` and `ready_protocol` are the supervisor's.

#![allow(unsafe_code, reason = "the library has a C interface")]

mod context;
#[path = "../../supervisor/src/ready_protocol.rs"]
mod ready_protocol;
#[path = "../../supervisor/src/run_mounts.rs"]
#[allow(dead_code, reason = "the supervisor uses the rest")]
mod run_mounts;
mod serve;
mod signals;
#[path = "../../supervisor/src/sys/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    unsafe_code,
    reason = "the supervisor uses the rest; all its unsafe is here"
)]
mod sys;

use ready_protocol::Go;
use serve::Template;

/// The return value of [`millibox_ready`] in a process that is not a template. The caller then
/// continues.
const NOT_A_TEMPLATE: isize = -1;

/// Announces that the program is ready. In a template, this function returns once in each copy. It
/// writes the copy's arguments and environment to `buffer`, as strings that each end with a NUL
/// byte. It writes their numbers to `counts` and returns the number of bytes. If the process is not
/// a template, it returns -1.
///
/// The process must have one thread and no children. Libraries that must react to the fork can
/// install pthread_atfork(3) handlers, which are called.
///
/// # Safety
/// `buffer` must be valid for writes of `size` bytes, and `counts` for writes of two numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millibox_ready(buffer: *mut u8, size: usize, counts: *mut u32) -> isize {
    let Some(template) = Template::announce() else {
        return NOT_A_TEMPLATE;
    };
    let (go, strings) = template.serve();
    let Go {
        arguments,
        environment,
        ..
    } = go;
    let length = strings.len().min(size);
    // SAFETY: the caller guarantees that both pointers are valid, and the strings are another
    // allocation.
    unsafe {
        core::ptr::copy_nonoverlapping(strings.as_ptr(), buffer, length);
        counts.write(arguments);
        counts.add(1).write(environment);
    }
    length as isize
}

/// Puts the files of a run in place, as the program `millibox-stage` does before its exec. Standard
/// input must be the socket that `millibox-stage` uses. Returns 0, or -1 if a step failed. In that
/// case the service has already been informed.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_ready_stage() -> i32 {
    match millibox_stage::stage() {
        Some(_) => 0,
        None => -1,
    }
}

/// How [`millibox_ready_streams`] describes a descriptor, in two bits.
#[repr(i32)]
enum StreamKind {
    Closed = 0,
    /// It can seek and is at the beginning of its file.
    AtBeginning = 1,
    /// It cannot seek and is not a terminal.
    Pipe = 2,
    Other = 3,
}

impl StreamKind {
    fn of(fd: i32) -> StreamKind {
        let fd = sys::borrow(fd);
        match rustix::fs::tell(fd) {
            Ok(0) => StreamKind::AtBeginning,
            Ok(_) => StreamKind::Other,
            Err(rustix::io::Errno::BADF) => StreamKind::Closed,
            Err(_) if rustix::termios::isatty(fd) => StreamKind::Other,
            Err(_) => StreamKind::Pipe,
        }
    }
}

/// Describes the three standard streams with two bits each, standard input in the lowest.
///
/// | value | descriptor |
/// | --- | --- |
/// | 0 | closed |
/// | 1 | can seek and is at the beginning of its file |
/// | 2 | cannot seek and is not a terminal, such as a pipe |
/// | 3 | any other |
#[unsafe(no_mangle)]
pub extern "C" fn millibox_ready_streams() -> i32 {
    (0..3).fold(0, |kinds, fd| {
        kinds | (StreamKind::of(fd) as i32) << (2 * fd)
    })
}

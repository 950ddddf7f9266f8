//! ptrace(2), waitpid(2) and process_vm_readv(2), which rustix does not provide.
#![allow(unsafe_code, reason = "the crate's one module for it")]

use std::io;

/// The kernel's request number, which libc lacks for some targets (linux/ptrace.h).
const PTRACE_GET_SYSCALL_INFO: u32 = 0x420e;
/// The number of 64-bit words of `struct ptrace_syscall_info` that this module reads.
const INFO_WORDS: usize = 11;

/// What a thread that stopped at a system call is about to do or has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The thread enters a call; the kernel has not yet run its seccomp program.
    Entry {
        nr: u32,
        arch: u32,
        instruction_pointer: u64,
        args: [u64; 6],
    },
    /// The thread leaves a call with this result, a negative number for an error.
    Exit { result: i64 },
    /// The stop is of another kind.
    Other,
}

/// How a stopped thread continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// Run to the next system call; deliver this signal first, unless it is 0.
    ToSystemCall(i32),
    /// Stay stopped, as the program's own stop signal requires, but report SIGCONT.
    Listen,
}

fn ptrace(request: u32, pid: i32, address: usize, data: usize) -> io::Result<i64> {
    // SAFETY: the requests of this module read or write no memory of this process, with the
    // exception of PTRACE_GET_SYSCALL_INFO, whose caller passes a buffer and its size.
    let result = unsafe { libc::ptrace(request as _, pid, address, data) };
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

/// Starts to trace a process and everything that it will start. The kernel kills the traced
/// processes if the calling thread ends.
pub fn seize(pid: i32) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_EXITKILL;
    ptrace(libc::PTRACE_SEIZE, pid, 0, options as usize).map(drop)
}

/// Continues a stopped thread. An error means that the thread has been killed.
pub fn resume(thread: i32, how: Resume) -> io::Result<()> {
    let (request, signal) = match how {
        Resume::ToSystemCall(signal) => (libc::PTRACE_SYSCALL, signal),
        Resume::Listen => (libc::PTRACE_LISTEN, 0),
    };
    ptrace(request, thread, 0, signal as usize).map(drop)
}

/// Describes the system call at which a thread stopped.
pub fn stop(thread: i32) -> io::Result<Stop> {
    let mut words = [0u64; INFO_WORDS];
    let size = size_of_val(&words);
    ptrace(
        PTRACE_GET_SYSCALL_INFO,
        thread,
        size,
        words.as_mut_ptr() as usize,
    )?;
    // struct ptrace_syscall_info: op (8 bits), arch (bits 32 to 63), instruction pointer, stack
    // pointer, and then number and arguments, or the result.
    let [first, instruction_pointer, _, fourth, args @ .., _] = words;
    Ok(match first as u8 {
        1 => Stop::Entry {
            nr: fourth as u32,
            arch: (first >> 32) as u32,
            instruction_pointer,
            args,
        },
        2 => Stop::Exit {
            result: fourth as i64,
        },
        _ => Stop::Other,
    })
}

/// Waits for the next event of a process that the calling thread traces. Returns the thread and its
/// wait status, or `None` if no traced process is left. Other children of this process are not
/// affected (`__WNOTHREAD`).
pub fn wait() -> Option<(i32, i32)> {
    loop {
        let mut status = 0;
        // SAFETY: waitpid(2) writes one number.
        let thread = unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::__WNOTHREAD) };
        if thread > 0 {
            return Some((thread, status));
        }
        if io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return None;
        }
    }
}

/// Reads memory of another process. Returns the number of bytes read, which is 0 if the address is
/// not readable.
pub fn read_memory(process: i32, address: u64, buffer: &mut [u8]) -> usize {
    let local = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let remote = libc::iovec {
        iov_base: address as usize as *mut libc::c_void,
        iov_len: buffer.len(),
    };
    // SAFETY: the kernel writes at most the length of the buffer into it, and only reads from the
    // other process.
    let read = unsafe { libc::process_vm_readv(process, &local, 1, &remote, 1, 0) };
    usize::try_from(read).unwrap_or(0)
}

/// Gives the calling thread the rights of a user and group, without supplementary groups, to files
/// (setfsuid(2), credentials(7)). The functions of libc would change all threads of the process.
/// Returns whether the thread has these rights; a process of the same user has them already.
pub fn take_file_rights((uid, gid): (u32, u32)) -> bool {
    // SAFETY: these calls use no memory of this process.
    let call = |number, argument: u32| unsafe { libc::syscall(number, argument, 0) };
    if call(libc::SYS_geteuid, 0) == i64::from(uid) {
        return true;
    }
    // An id that does not exist changes nothing, and the calls return the id before the call.
    let set = |number, id: u32| {
        call(number, id);
        call(number, u32::MAX) == i64::from(id)
    };
    call(libc::SYS_setgroups, 0) == 0
        && set(libc::SYS_setfsgid, gid)
        && set(libc::SYS_setfsuid, uid)
}

//! The tracer: one thread that follows the processes of a run.
//!
//! The thread only observes. Each traced thread stops before and after every system call. The
//! kernel then applies the world's unchanged seccomp program, so a refused call stays refused.
//! Registers and memory of the program are read and never written. The program can change a path
//! while the tracer reads it; the report then contains the wrong path, and nothing else happens,
//! because no decision depends on what the tracer reads.

use crate::calls::{self, PathArgument};
use crate::record::{Failed, Record, Refusal};
use crate::sys::{self, Resume, Stop};
use millibox_seccomp::{Action, Arch, Data, Policy, Program, run};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketFlags,
    SocketType, recvmsg, send, socketpair,
};
use std::collections::HashMap;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;

/// The longest path that the kernel accepts, with its NUL byte.
const PATH_BYTES: usize = 4096;
/// The unit in which memory is read, so that a path at the end of readable memory is found.
const PAGE_BYTES: u64 = 4096;
/// Results from this one on execute the call: `SECCOMP_RET_LOG` and `SECCOMP_RET_ALLOW`.
const EXECUTED: u32 = 0x7ffc_0000;
/// Bits of a seccomp program's result without its data.
const ACTION_MASK: u32 = 0xffff_0000;

/// Creates the sockets over which a process asks to be traced. The first stays with the tracer.
///
/// # Errors
/// No sockets can be created.
pub fn sockets() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let (own, other) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // The kernel then adds the sender's process id to each message, in the receiver's namespace.
    set_socket_passcred(&own, true)?;
    Ok((own, other))
}

/// The rules by which the kernel decides the calls of the program.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// The seccomp program of the world; `None` if every call is allowed.
    pub program: Option<Program>,
    /// The policy from which the program was compiled, if known.
    pub policy: Option<Policy>,
}

impl Rules {
    /// The refusal of a call, or `None` if the kernel executes it.
    fn refusal(&self, arch: Arch, data: &Data) -> Option<Refusal> {
        let result = run(self.program.as_ref()?, data);
        // The kernel compares actions as signed numbers: SECCOMP_RET_KILL_PROCESS is negative.
        if (result & ACTION_MASK) as i32 >= EXECUTED as i32 {
            return None;
        }
        let rule = self.policy.as_ref().and_then(|policy| {
            let rule = policy.decide(arch, data).rule?;
            policy
                .rules()
                .iter()
                .position(|its| std::ptr::eq(its, rule))
        });
        Some(Refusal {
            arch: data.arch,
            nr: data.nr,
            result,
            rule,
        })
    }
}

/// Waits for a process that asks to be traced, and traces it and its descendants to their end.
/// Returns `None` if no program was executed, because the run did not begin, the kernel refused the
/// trace, or the exec failed. The process receives the kernel's error.
pub fn trace(socket: OwnedFd, rules: &Rules) -> Option<Record> {
    let pid = receive_pid(&socket)?;
    let seized = sys::seize(pid);
    let errno = seized.as_ref().err().and_then(std::io::Error::raw_os_error);
    // The process waits for this byte: 0, or the error number.
    let answer = [errno.map_or(0, |errno| errno as u8)];
    let sent = send(&socket, &answer, SendFlags::NOSIGNAL);
    drop(socket);
    if seized.is_err() {
        return None;
    }
    let mut tracer = Tracer {
        rules,
        arch: Arch::native(),
        paths: calls::of(Arch::native()),
        calls: HashMap::new(),
        executed: false,
        record: Record::new(),
    };
    // A process that has not received the byte is killed when this thread ends.
    sent.ok()?;
    tracer.follow();
    tracer.executed.then_some(tracer.record)
}

fn receive_pid(socket: &OwnedFd) -> Option<i32> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    loop {
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let mut parts = [IoSliceMut::new(&mut byte)];
        match recvmsg(socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Ok(received) if received.bytes > 0 => {}
            Err(Errno::INTR) => continue,
            // Every process that had the other end has closed it.
            _ => return None,
        }
        return control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmCredentials(sender) => Some(sender.pid.as_raw_nonzero().get()),
            _ => None,
        });
    }
}

/// A call that a thread has entered.
struct Entered {
    nr: u32,
    args: [u64; 6],
}

struct Tracer<'r> {
    rules: &'r Rules,
    arch: Arch,
    paths: HashMap<u32, PathArgument>,
    /// The allowed calls with a path in which threads are.
    calls: HashMap<i32, Entered>,
    /// Whether a program was executed.
    executed: bool,
    record: Record,
}

impl Tracer<'_> {
    /// Follows all traced threads until none is left.
    fn follow(&mut self) {
        while let Some((thread, status)) = sys::wait() {
            if !libc::WIFSTOPPED(status) {
                self.calls.remove(&thread);
                continue;
            }
            let how = match (libc::WSTOPSIG(status), status >> 16) {
                (signal, 0) if signal == libc::SIGTRAP | 0x80 => {
                    self.see_call(thread);
                    Resume::ToSystemCall(0)
                }
                (libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU, event)
                    if event == libc::PTRACE_EVENT_STOP =>
                {
                    Resume::Listen
                }
                (signal, 0) => Resume::ToSystemCall(signal),
                (_, event) if event == libc::PTRACE_EVENT_EXEC => {
                    self.executed = true;
                    Resume::ToSystemCall(0)
                }
                _ => Resume::ToSystemCall(0),
            };
            // This fails only if the thread has been killed, which the next wait reports.
            let _ = sys::resume(thread, how);
        }
    }

    /// Records the system call at which a thread has stopped.
    fn see_call(&mut self, thread: i32) {
        match sys::stop(thread) {
            Ok(Stop::Entry {
                nr,
                arch,
                instruction_pointer,
                args,
            }) => {
                self.calls.remove(&thread);
                let data = Data {
                    nr,
                    arch,
                    instruction_pointer,
                    args,
                };
                if let Some(refusal) = self.rules.refusal(self.arch, &data) {
                    self.record.add_refusal(refusal);
                } else if arch == self.arch.audit_value() && self.paths.contains_key(&nr) {
                    self.calls.insert(thread, Entered { nr, args });
                }
            }
            Ok(Stop::Exit { result }) => {
                let Some(call) = self.calls.remove(&thread) else {
                    return;
                };
                let errno = i32::try_from(-result).unwrap_or(0);
                if matches!(errno, libc::ENOENT | libc::EACCES | libc::EROFS)
                    && let Some(argument) = self.paths.get(&call.nr)
                {
                    match path(thread, *argument, &call.args) {
                        Found::Path(path) => self.record.add_failed(Failed { path, errno }),
                        Found::Nothing => {}
                        Found::Unreadable => self.record.unreadable += 1,
                    }
                }
            }
            Ok(Stop::Other) | Err(_) => {}
        }
    }
}

enum Found {
    Path(Vec<u8>),
    /// The call names no path.
    Nothing,
    Unreadable,
}

/// The path of a call, absolute if the directory is known.
fn path(thread: i32, argument: PathArgument, args: &[u64; 6]) -> Found {
    let (directory, pointer) = match argument {
        PathArgument::Plain(path) => (None, args[path]),
        PathArgument::At(directory, path) => (Some(args[directory] as i32), args[path]),
        PathArgument::Socket => return socket_path(thread, args),
    };
    let Some(path) = read_string(thread, pointer) else {
        return Found::Unreadable;
    };
    absolute(thread, directory, path)
}

fn absolute(thread: i32, directory: Option<i32>, path: Vec<u8>) -> Found {
    if path.is_empty() {
        return Found::Nothing;
    }
    if path.starts_with(b"/") {
        return Found::Path(path);
    }
    let link = match directory {
        Some(directory) if directory != libc::AT_FDCWD => {
            format!("/proc/{thread}/fd/{directory}")
        }
        _ => format!("/proc/{thread}/cwd"),
    };
    // The kernel reports the directory as the program sees it, because the program's root is the
    // root of its mount namespace.
    match std::fs::read_link(link) {
        Ok(directory) if directory.is_absolute() => {
            let mut whole = directory.into_os_string().into_vec();
            whole.push(b'/');
            whole.extend(path);
            Found::Path(whole)
        }
        _ => Found::Unreadable,
    }
}

/// The path of a Unix socket's address (unix(7)).
fn socket_path(thread: i32, args: &[u64; 6]) -> Found {
    let mut address = [0; 110];
    let length = (args[2] as usize).min(address.len());
    let read = sys::read_memory(thread, args[1], &mut address[..length]);
    let Some((family, path)) = address[..read].split_at_checked(2) else {
        return Found::Unreadable;
    };
    if family != (libc::AF_UNIX as u16).to_ne_bytes() {
        return Found::Nothing;
    }
    let length = path
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(path.len());
    absolute(thread, None, path[..length].to_vec())
}

/// Reads a string that ends with a NUL byte.
fn read_string(thread: i32, mut address: u64) -> Option<Vec<u8>> {
    let mut string = Vec::new();
    let mut buffer = [0; PATH_BYTES];
    while string.len() < PATH_BYTES {
        let to_page_end = (PAGE_BYTES - address % PAGE_BYTES) as usize;
        let length = to_page_end.min(PATH_BYTES - string.len());
        let read = sys::read_memory(thread, address, &mut buffer[..length]);
        let part = &buffer[..read];
        if let Some(end) = part.iter().position(|&byte| byte == 0) {
            string.extend_from_slice(&part[..end]);
            return Some(string);
        }
        if read < length {
            return None;
        }
        string.extend_from_slice(part);
        address = address.wrapping_add(read as u64);
    }
    None
}

/// The action of a seccomp program's result.
pub fn action(result: u32) -> Option<Action> {
    let data = result as u16;
    [
        Action::Errno(data.min(4095)),
        Action::Trap,
        Action::KillThread,
        Action::KillProcess,
    ]
    .into_iter()
    .find(|action| action.value() & ACTION_MASK == result & ACTION_MASK)
}

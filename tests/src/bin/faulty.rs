//! The supervisor, with somebody between it and the kernel: stands where a supervisor's
//! executable is looked for, lies in a directory with a `socket` and a file `supervisor` (the path
//! of the real one), and takes its place.
//!
//! Before it does, it attaches a seccomp program under which nearly every call of the supervisor's
//! family is first told to whoever holds the listener (seccomp_unotify(2)), and hands that to the
//! socket's owner. So the supervisor itself has no hook for faults, and its tests need no other
//! build of it.

#![allow(
    unsafe_code,
    reason = "it attaches a seccomp program by plain system calls"
)]

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;

/// Calls that cannot fail, and those that could not go on if they were told.
const PLAIN: [i64; 9] = [
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_rt_sigreturn,
    libc::SYS_restart_syscall,
    libc::SYS_clock_gettime,
    libc::SYS_getpid,
    libc::SYS_futex,
    libc::SYS_getpriority,
    libc::SYS_rt_sigprocmask,
];

fn main() {
    if let Err(why) = take_place() {
        eprintln!("faulty: {why}");
        std::process::exit(1);
    }
}

fn take_place() -> Result<(), String> {
    let executable = std::env::current_exe().map_err(|error| error.to_string())?;
    let directory = executable.parent().ok_or("no directory")?;
    let real = std::fs::read(directory.join("supervisor")).map_err(|error| error.to_string())?;
    let mut command = std::process::Command::new(std::ffi::OsStr::from_bytes(&real));
    command.args(std::env::args_os().skip(1));
    if std::env::args().any(|argument| argument.starts_with("--sweep")) {
        return Err(command.exec().to_string());
    }
    let socket = UnixStream::connect(directory.join("socket"))
        .map_err(|error| format!("socket: {error}"))?;
    let failed = |what: &str| format!("{what}: {}", std::io::Error::last_os_error());
    // SAFETY: a plain call; what it opens is closed again.
    let next = unsafe {
        let next = libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 3);
        libc::close(next);
        next
    };
    // A sibling with the same table of descriptors, who is not told of, hands the listener on.
    let flags = libc::CLONE_FILES | libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: as fork(2), in a process of one thread.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
        -1 => return Err(failed("clone")),
        0 => {
            hand_on(&socket, next);
            std::process::exit(0);
        }
        _ => {}
    }
    attach(next).map_err(failed)?;
    Err(command.exec().to_string())
}

fn hand_on(socket: &UnixStream, listener: i32) {
    // SAFETY: a plain call.
    while unsafe { libc::fcntl(listener, libc::F_GETFD) } < 0 {
        // SAFETY: a plain call.
        if unsafe { libc::getppid() } == 1 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    // SAFETY: it is open, and stays so until we end.
    let descriptors = [unsafe { BorrowedFd::borrow_raw(listener) }];
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    let pid = std::process::id().to_ne_bytes();
    let _ = rustix::net::sendmsg(
        socket,
        &[IoSlice::new(&pid)],
        &mut control,
        SendFlags::empty(),
    );
    let _ = socket.as_raw_fd();
}

fn attach(expected: i32) -> Result<(), &'static str> {
    let statement = |code: u32, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    };
    let mut program = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0)];
    for (index, number) in PLAIN.iter().enumerate() {
        let jt = (PLAIN.len() - index) as u8;
        let code = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        program.push(libc::sock_filter {
            code,
            jt,
            jf: 0,
            k: *number as u32,
        });
    }
    program.push(statement(
        libc::BPF_RET | libc::BPF_K,
        libc::SECCOMP_RET_USER_NOTIF,
    ));
    program.push(statement(
        libc::BPF_RET | libc::BPF_K,
        libc::SECCOMP_RET_ALLOW,
    ));
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the program and what it points to live until the call is over.
    let listener = unsafe {
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
            return Err("no_new_privs");
        }
        let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const program,
        )
    };
    match listener {
        -1 => Err("seccomp"),
        fd if fd == i64::from(expected) => Ok(()),
        // Nobody hears us any more: the exec will not come back.
        _ => Err("the listener is not where it was expected"),
    }
}

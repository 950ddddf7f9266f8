//! Starts the supervisor under a seccomp listener, so that tests can inject faults. Tests copy this
//! executable to the place of the supervisor's. Its directory also contains a `socket` and a file
//! `supervisor` with the path of the real supervisor.
//!
//! The program attaches a seccomp program that reports nearly every system call of the supervisor
//! and its descendants to the listener (seccomp_unotify(2)). It sends the listener through the
//! socket, and executes the supervisor. The supervisor itself thus needs no hook for faults, and
//! tests need no special build of it.

#![allow(
    unsafe_code,
    reason = "attaches a seccomp program with plain system calls"
)]

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;

/// System calls that cannot fail, and system calls that could not continue after a notification.
const UNREPORTED_CALLS: [i64; 9] = [
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
    if let Err(why) = exec_supervisor() {
        eprintln!("faulty: {why}");
        std::process::exit(1);
    }
}

fn exec_supervisor() -> Result<(), String> {
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
    // SAFETY: fcntl(2) and close(2) take numbers only. The new descriptor is closed again.
    let next = unsafe {
        let next = libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 3);
        libc::close(next);
        next
    };
    // A sibling process that shares the table of descriptors sends the listener. Its system calls
    // are not reported.
    let flags = libc::CLONE_FILES | libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: the call works like fork(2), and the process has one thread.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
        -1 => return Err(failed("clone")),
        0 => {
            send_listener(&socket, next);
            std::process::exit(0);
        }
        _ => {}
    }
    attach(next).map_err(failed)?;
    Err(command.exec().to_string())
}

fn send_listener(socket: &UnixStream, listener: i32) {
    // SAFETY: fcntl(2) takes numbers only.
    while unsafe { libc::fcntl(listener, libc::F_GETFD) } < 0 {
        // SAFETY: getppid(2) has no preconditions.
        if unsafe { libc::getppid() } == 1 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    // SAFETY: the descriptor is open, and stays open until this process ends.
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
    for (index, number) in UNREPORTED_CALLS.iter().enumerate() {
        let jt = (UNREPORTED_CALLS.len() - index) as u8;
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
    // SAFETY: the program and its instructions live until the call returns.
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
        // No process answers the notifications, so an exec would never return.
        _ => Err("the listener has an unexpected number"),
    }
}

//! `millibox-supervisor`: the server behind the `millibox` library and command.
//!
//! ```text
//! client ──socket── supervisor ──socket── runner ──clone── pid1 ──clone── target ──exec── program
//!                                          (2 or more per slot)
//!    └─ started ─ keeper ─ started ┘
//! ```
//!
//! | file | content |
//! | --- | --- |
//! | `options` | the command line |
//! | `keeper` | creates and removes cgroups; outlives the client and the supervisor |
//! | `start` | drops privileges, sets the supervisor up |
//! | `supervisor` | the event loop: `client` (requests), `dispatch` (queue), `runners`, `setbacks`, `limits` (clocks), `results` |
//! | `spawner` | the process that forks runners and mounters |
//! | `confine` | what each process gives up during its set-up |
//! | `slot` | the runners of a slot, as the supervisor sees them |
//! | `cpus` | the CPU of each runner |
//! | `world`, `template` | mount namespaces, prepared once for each world |
//! | `devices` | the devices of a world, as one mount where possible |
//! | `runner` | the process that serves runs one after the other |
//! | `zygote` | the process that clones pid1s for one world |
//! | `pid1`, `target` | the two processes of a run |
//! | `launch`, `messages` | shared memory and messages between them; texts |
//! | `tree`, `sockets`, `locks` | processes, sockets and file locks of a run |
//! | `backend` | limiting and measuring a run: cgroup2, hybrid, rlimit |
//! | `sys` | hand-written system calls, and all `unsafe` |
//!
//! ARCHITECTURE.md, in the root of the repository, follows one request through them.

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic if the reader has closed the pipe"
)]

mod backend;
mod confine;
mod cpus;
mod devices;
mod keeper;
mod launch;
mod locks;
mod messages;
mod options;
mod pid1;
mod runner;
mod slot;
mod sockets;
mod spawner;
mod start;
mod supervisor;
#[allow(unsafe_code, reason = "the one room for it")]
mod sys;
mod target;
mod template;
mod tree;
mod world;
mod zygote;

use options::{Options, Task};
use rustix::net::{AddressFamily, SocketType, sockopt};
use std::io::Write;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::process::ExitCode;

fn main() -> ExitCode {
    abort_at_panics();
    let outcome = match options::parse(std::env::args_os().skip(1)) {
        Ok(Task::Start(options)) => start(&options),
        Ok(Task::Supervise(inherited)) => start::supervise(inherited).map(|()| 0),
        Ok(Task::Sweep(paths)) => {
            keeper::sweep(&paths);
            Ok(0)
        }
        Ok(Task::Version) => {
            let said = writeln!(
                std::io::stdout(),
                "millibox-supervisor {}",
                env!("CARGO_PKG_VERSION")
            );
            said.map(|()| 0)
                .map_err(|error| format!("cannot write to standard output: {error}"))
        }
        Err(why) => Err(why),
    };
    match outcome {
        Ok(code) => ExitCode::from(code as u8),
        Err(why) => {
            messages::complain(why);
            ExitCode::from(2)
        }
    }
}

/// Ends the process at once when it panics. Destructors must not run in a supervisor with a bug.
fn abort_at_panics() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
}

fn start(options: &Options) -> Result<i32, String> {
    // A client may ignore SIGCHLD. Then the kernel would keep no ended children to wait for
    // (wait(2), NOTES).
    let _ = sys::calls::reset_signal_disposition(libc::SIGCHLD);
    // Close what the client left open: a keeper that held the end of a pipe would block its reader
    // as long as it lives.
    slot::close_all_but(vec![0, 1, 2, options.socket]).map_err(|errno| {
        format!(
            "cannot close what the client left open: {}",
            messages::errno_text(errno)
        )
    })?;
    let socket = client_socket(options.socket)?;
    start::may_be(options)?;
    // The socket belongs to the client that created it, even if one of its children keeps the other
    // end open.
    let peer = sockopt::socket_peercred(&socket)
        .map_err(|errno| format!("the socket's peer is unknown: {errno}"))?;
    let client = rustix::process::pidfd_open(peer.pid, rustix::process::PidfdFlags::empty())
        .map_err(|errno| format!("cannot watch the client: {errno}"))?;
    keeper::main(options, socket, client)
}

/// Checks that a descriptor is what the client announced.
fn client_socket(fd: i32) -> Result<OwnedFd, String> {
    let socket =
        sys::adopt(fd).ok_or_else(|| format!("--socket={fd}: the descriptor is not open"))?;
    match sockopt::socket_domain(&socket) {
        Err(_) => return Err(format!("--socket={fd}: the descriptor is no socket")),
        Ok(AddressFamily::UNIX) => {}
        Ok(family) => {
            return Err(format!(
                "--socket={fd}: the socket's family is {}, it must be AF_UNIX",
                family.as_raw()
            ));
        }
    }
    match sockopt::socket_type(&socket) {
        Ok(SocketType::SEQPACKET) if fd > 2 => Ok(socket),
        Ok(SocketType::SEQPACKET) => {
            let failed = |errno: rustix::io::Errno| {
                format!("--socket={fd}: cannot move the descriptor: {errno}")
            };
            let moved = rustix::io::fcntl_dupfd_cloexec(&socket, 3).map_err(failed)?;
            // No other descriptor may get the number of a standard stream.
            let null = rustix::fs::open(
                "/dev/null",
                rustix::fs::OFlags::RDWR,
                rustix::fs::Mode::empty(),
            );
            let null = rustix::io::fcntl_dupfd_cloexec(null.map_err(failed)?, 3).map_err(failed)?;
            sys::calls::dup3(null.as_raw_fd(), socket.into_raw_fd(), 0)
                .map_err(|errno| failed(rustix::io::Errno::from_raw_os_error(errno.0)))?;
            Ok(moved)
        }
        _ => Err(format!(
            "--socket={fd}: the socket's type must be SOCK_SEQPACKET"
        )),
    }
}

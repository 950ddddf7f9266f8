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
//! | `start` | drops privileges and sets up the supervisor |
//! | `supervisor` | the event loop: `client` (requests), `dispatch` (queue), `runners`, `deaths`, `setbacks`, `limits` (clocks), `results` |
//! | `setup` | the arguments that the supervisor receives at its start |
//! | `spawner` | the process that forks runners and mounters |
//! | `confine` | the rights that each process gives up during its set-up |
//! | `slot` | the runners of a slot, as the supervisor sees them |
//! | `cpus` | the CPU of each runner |
//! | `world`, `template`, `mounter` | mount namespaces, prepared once for each world |
//! | `devices` | the devices of a world, as one mount where possible |
//! | `null` | the null device as a standard stream of a run |
//! | `prepared` | the memory that a runner shares with its children |
//! | `rlimits` | resource limits of runners and targets |
//! | `runner` | the process that serves runs one after the other |
//! | `zygote` | the process that clones pid1s for one world |
//! | `pid1`, `target` | the two processes of a run |
//! | `run_mounts` | the mounts of one run |
//! | `program`, `ready_protocol` | templates of prepared programs, of which runs are copies |
//! | `launch` | the shared memory of supervisor and runners, and their messages |
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
mod mounter;
mod null;
mod options;
mod own_network;
mod pid1;
mod prepared;
mod program;
mod ready_protocol;
mod rlimits;
mod run_mounts;
mod runner;
mod setup;
mod slot;
mod sockets;
mod spawner;
mod start;
mod supervisor;
#[allow(unsafe_code, reason = "all unsafe code is here")]
mod sys;
mod target;
mod template;
mod tree;
mod world;
mod zygote;

use messages::failed;
use millibox_wire::{SupervisorError, SupervisorHint, SupervisorStep};
use options::{Options, Task};
use rustix::net::{AddressFamily, SocketType, sockopt};
use std::io::Write;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::process::ExitCode;

fn main() -> ExitCode {
    abort_at_panics();
    let outcome = match options::parse(std::env::args_os().skip(1)) {
        Ok(Task::Start(options)) => start(&options).map_err(|error| error.to_string()),
        Ok(Task::Supervise(inherited)) => start::supervise(inherited)
            .map(|()| 0)
            .map_err(|error| error.to_string()),
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

/// Makes a panic end the process at once. Destructors must not run in a supervisor with a bug.
fn abort_at_panics() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
}

fn start(options: &Options) -> Result<i32, SupervisorError> {
    // A client may ignore SIGCHLD. The kernel would then discard ended children, and wait(2) could
    // not report them (wait(2), NOTES).
    let _ = sys::calls::reset_signal_disposition(libc::SIGCHLD);
    // Close the client's other descriptors. A keeper that kept the write end of a pipe open would
    // block the pipe's reader for as long as the keeper lives.
    sys::calls::close_all_but(vec![0, 1, 2, options.socket])
        .map_err(failed(SupervisorStep::CloseInherited))?;
    let mut socket = Some(client_socket(options.socket)?);
    let outcome = start_from(options, &mut socket);
    if let (Err(error), Some(socket)) = (&outcome, &socket) {
        messages::report(socket, error);
    }
    outcome
}

/// The part of the start whose errors the client receives. The keeper takes the socket once the
/// supervisor has it.
fn start_from(options: &Options, socket: &mut Option<OwnedFd>) -> Result<i32, SupervisorError> {
    start::check_user(options)?;
    // The socket belongs to the client that created it, even if a child of the client keeps the
    // other end open.
    let peer = socket
        .as_ref()
        .map_or(Err(rustix::io::Errno::BADF), sockopt::socket_peercred)
        .map_err(failed(SupervisorStep::ClientProcess))?;
    let client = rustix::process::pidfd_open(peer.pid, rustix::process::PidfdFlags::empty())
        .map_err(failed(SupervisorStep::WatchClient))?;
    keeper::main(options, socket, client)
}

/// Checks that the descriptor is a socket of the announced kind.
fn client_socket(fd: i32) -> Result<OwnedFd, SupervisorError> {
    let error = SupervisorError::new(SupervisorStep::Socket).with_subject(format!("--socket={fd}"));
    let rejected = |hint| Err(error.clone().with_hint(hint));
    let Some(socket) = sys::adopt(fd) else {
        return rejected(SupervisorHint::NotOpen);
    };
    match sockopt::socket_domain(&socket) {
        Err(_) => return rejected(SupervisorHint::NotSocket),
        Ok(AddressFamily::UNIX) => {}
        Ok(family) => return rejected(SupervisorHint::SocketFamily(family.as_raw())),
    }
    match sockopt::socket_type(&socket) {
        Ok(SocketType::SEQPACKET) if fd > 2 => Ok(socket),
        Ok(SocketType::SEQPACKET) => {
            let failed = |errno: rustix::io::Errno| error.clone().with_errno(errno.raw_os_error());
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
        _ => rejected(SupervisorHint::SocketType),
    }
}

//! The root process that exists if root starts the service.
//!
//! Only root can use version 1 cgroups and choose the user of the sandboxes. The service itself
//! reads requests from strangers and needs no privileges. So `millibox serve` becomes two
//! processes:
//!
//! ```text
//! parent (root) ──socket── service (unprivileged)
//!    └─ starts supervisors        └─ uses them
//! ```
//!
//! The parent has one thread. It starts a supervisor when the service asks for one, and passes its
//! descriptors on. Executable, backend, cgroups and user are fixed by the command line: a request
//! has numbers only (see [`crate::link`]). The parent also forwards signals, waits for the
//! processes that it has started, and removes the file of the Unix socket.
//!
//! When one of the two processes ends, the other one ends too. The kernel kills the service at the
//! end of the parent (PR_SET_PDEATHSIG). The supervisors end with the parent (pidfd) and with their
//! sockets, which only the service holds.

use crate::link;
use millibox::{Builder, LaunchedProcess};
use millibox_cli_support::failure::Failure;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, pidfd_open, pidfd_send_signal,
    waitid,
};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

/// The environment variable that the parent sets for the service. Its value is the process id of
/// the parent. The service's standard input is the socket.
pub const PARENT: &str = "MILLIBOX_SERVE_PARENT";
/// Number of supervisors that may exist at the same time: two for all runs, and one for each
/// judging.
const MAX_SUPERVISORS: usize = 1024;
/// Signals that are passed on to the service. Other signals end the parent, and thereby the
/// service.
const FORWARDED: [(i32, Signal); 2] = [(SIGTERM, Signal::TERM), (SIGINT, Signal::INT)];

/// Starts the service as a child and serves it until it ends. Returns its exit status.
///
/// # Errors
/// The service cannot be started, or a signal has killed it.
pub fn run(builder: &Builder, unix_socket: Option<&Path>) -> Result<ExitCode, Failure> {
    let failed = |what: &'static str| {
        move |error: std::io::Error| Failure::sandbox(format!("cannot {what}: {error}"))
    };
    let mut signals = Vec::new();
    for (number, signal) in FORWARDED {
        let stream = caught(number).map_err(failed("catch signals"))?;
        signals.push((stream, signal));
    }
    let socket_file = unix_socket.and_then(SocketFile::of);
    let (socket, end_of_service) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(|errno| failed("create a socket")(errno.into()))?;
    let child = start_service(end_of_service).map_err(failed("start the service"))?;
    let service = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())
        .map_err(|errno| failed("watch the service")(errno.into()))?;
    let mut parent = Parent {
        builder,
        socket: Some(socket),
        service,
        signals,
        supervisors: Vec::new(),
    };
    let status = parent.serve();
    // The sockets of the supervisors are closed now.
    for supervisor in parent.supervisors.drain(..) {
        supervisor.wait_for_end();
    }
    drop(socket_file);
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))),
        (None, signal) => {
            let name = millibox_cli_support::signals::name(signal.unwrap_or_default());
            Err(Failure::sandbox(format!("{name} has killed the service")))
        }
    }
}

/// A stream with a byte for each signal of this number.
fn caught(number: i32) -> std::io::Result<UnixStream> {
    let (reader, writer) = UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(number, writer)?;
    Ok(reader)
}

fn start_service(socket: OwnedFd) -> std::io::Result<Child> {
    let mut arguments = std::env::args_os();
    let name: OsString = arguments.next().unwrap_or_default();
    Command::new(std::env::current_exe()?)
        .arg0(name)
        .args(arguments)
        .env(PARENT, std::process::id().to_string())
        .stdin(Stdio::from(socket))
        .spawn()
}

struct Parent<'b> {
    builder: &'b Builder,
    /// `None` if the service has closed its end.
    socket: Option<OwnedFd>,
    service: OwnedFd,
    signals: Vec<(UnixStream, Signal)>,
    supervisors: Vec<LaunchedProcess>,
}

impl Parent<'_> {
    /// Serves until the service has ended. Returns its status.
    fn serve(&mut self) -> WaitIdStatus {
        loop {
            let ready = self.wait();
            self.pass_signals_on();
            self.reap();
            if ready.socket && self.answer().is_err() {
                // The service has a bug, or it was compromised.
                let _ = pidfd_send_signal(&self.service, Signal::KILL);
                self.socket = None;
            }
            if ready.service
                && let Ok(Some(status)) =
                    waitid(WaitId::PidFd(self.service.as_fd()), WaitIdOptions::EXITED)
            {
                return status;
            }
        }
    }

    /// Waits until a descriptor is readable.
    fn wait(&self) -> Ready {
        let mut all = vec![PollFd::new(&self.service, PollFlags::IN)];
        all.extend(
            self.signals
                .iter()
                .map(|(stream, _)| PollFd::new(stream, PollFlags::IN)),
        );
        all.extend(
            self.supervisors
                .iter()
                .map(|supervisor| PollFd::new(supervisor, PollFlags::IN)),
        );
        all.extend(
            self.socket
                .iter()
                .map(|socket| PollFd::new(socket, PollFlags::IN)),
        );
        let _ = poll(&mut all, None);
        let is_ready =
            |entry: Option<&PollFd<'_>>| entry.is_some_and(|fd| !fd.revents().is_empty());
        Ready {
            service: is_ready(all.first()),
            socket: self.socket.is_some() && is_ready(all.last()),
        }
    }

    fn pass_signals_on(&self) {
        for (stream, signal) in &self.signals {
            if rustix::io::read(stream, &mut [0; 64][..]).is_ok_and(|read| read > 0) {
                let _ = pidfd_send_signal(&self.service, *signal);
            }
        }
    }

    /// Waits for supervisors that have ended.
    fn reap(&mut self) {
        let has_ended = |supervisor: &LaunchedProcess| {
            let mut entry = [PollFd::new(supervisor, PollFlags::IN)];
            let now = rustix::event::Timespec::default();
            matches!(poll(&mut entry, Some(&now)), Ok(1))
        };
        let (ended, living): (Vec<_>, Vec<_>) = std::mem::take(&mut self.supervisors)
            .into_iter()
            .partition(has_ended);
        self.supervisors = living;
        ended.into_iter().for_each(LaunchedProcess::wait_for_end);
    }

    /// Starts a supervisor for the service.
    fn answer(&mut self) -> std::io::Result<()> {
        let Some(socket) = &self.socket else {
            return Ok(());
        };
        let Some(options) = link::receive_request(socket)? else {
            self.socket = None;
            return Ok(());
        };
        if self.supervisors.len() >= MAX_SUPERVISORS {
            return link::send_refused(socket, "too many supervisors are running");
        }
        match self.builder.clone().launch_options(options).launch() {
            Ok((launched, process)) => {
                self.supervisors.push(process);
                link::send_started(socket, &launched)
            }
            Err(error) => link::send_refused(socket, &error.to_string()),
        }
    }
}

struct Ready {
    service: bool,
    socket: bool,
}

/// The file of the Unix socket. The directory is opened before the service starts, so that the
/// service cannot make root remove another file.
struct SocketFile {
    directory: OwnedFd,
    name: OsString,
}

impl SocketFile {
    fn of(path: &Path) -> Option<SocketFile> {
        let path = std::path::absolute(path).ok()?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Some(SocketFile {
            directory: rustix::fs::open(path.parent()?, flags, Mode::empty()).ok()?,
            name: path.file_name()?.to_owned(),
        })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_socket = rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW)
            .map(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode))
            .is_ok_and(|kind| kind == rustix::fs::FileType::Socket);
        if is_socket {
            let _: Result<(), Errno> =
                rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty());
        }
    }
}

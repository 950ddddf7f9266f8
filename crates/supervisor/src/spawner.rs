//! The spawner: the process that forks runners and mounters for the supervisor.
//!
//! A child inherits the rights of its parent. The supervisor reads the messages of client and
//! runners, so it gives up nearly all rights ([`crate::confine`]). But runners and mounters create
//! namespaces and mounts, and a world may allow its programs anything. The memory of the spawner's
//! children also contains none of the requests that the supervisor has read, so the children cannot
//! leak them.
//!
//! The supervisor forks the spawner before it confines itself. The spawner clones each child as a
//! child of the supervisor (`CLONE_PARENT`). The supervisor is notified when they end, and they die
//! with it, as if it had forked them. So the spawner keeps no state. It reads one message, clones,
//! and answers with a process id. It does not parse the message; the child does.
//!
//! The spawner may use all cgroup files of all runners, the host's /proc and the supervisor's
//! namespaces. Spawner and supervisor die with each other.

use crate::backend::{Backend, Handover};
use crate::confine;
use crate::devices;
use crate::launch::{Failure, Report, Shared, message};
use crate::messages::failed;
use crate::runner::{self, RunnerSetup};
use crate::setup::Setup;
use crate::sys::calls::close_all_but;
use crate::sys::{self, Errno, Result, calls, memory, process};
use crate::template;
use millibox_wire::Step;
use millibox_wire::{Located, SupervisorError, SupervisorHint, SupervisorStep, decode, encode};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use serde::{Deserialize, Serialize};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Supervisor to spawner: fork a runner. A [`RunnerOrder`] follows; [`RunnerFiles`] are attached.
const RUNNER_REQUEST: u8 = b'H';
/// Supervisor to spawner: fork a mounter. The bytes of a world follow; the mounter's socket is
/// attached.
const MOUNTER_REQUEST: u8 = b'B';

/// The maximum length of a message, which contains the bytes of a world.
const MAX_MESSAGE_BYTES: usize = millibox_wire::frame::MAX_INLINE;

/// Identifies a runner.
#[derive(Debug, Serialize, Deserialize)]
struct RunnerOrder {
    index: usize,
    again: bool,
}

/// The descriptors of a new runner.
pub struct RunnerFiles<'a> {
    /// The runner's end of its socket to the supervisor.
    pub socket: &'a OwnedFd,
    /// The socket on which the runner's targets receive their launches.
    pub launches: &'a OwnedFd,
    /// The memory that the runner shares with the supervisor.
    pub memory: &'a OwnedFd,
}

/// The spawner, as the supervisor sees it.
pub struct Spawner {
    socket: OwnedFd,
    process: i32,
}

impl Spawner {
    /// Forks the spawner. `procfs` is the host's /proc, which the supervisor does not keep.
    pub fn start(setup: &Setup, procfs: OwnedFd) -> std::result::Result<Spawner, SupervisorError> {
        let failed = failed(SupervisorStep::Spawner);
        let (socket, its) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(|errno| failed(errno.into()))?;
        let supervisor = calls::getpid();
        let Some(process) = process::fork().map_err(failed)? else {
            set_parent_death_signal(supervisor);
            SpawnerProcess {
                setup,
                socket: its,
                procfs,
                supervisor,
            }
            .serve();
        };
        Ok(Spawner { socket, process })
    }

    /// Becomes readable when the spawner dies.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Starts runner `index` and returns its process id. The runner is a child of the supervisor.
    pub fn runner(
        &self,
        index: usize,
        again: bool,
        files: &RunnerFiles,
        client: &OwnedFd,
    ) -> Result<i32> {
        let mut bytes = vec![RUNNER_REQUEST];
        bytes.extend_from_slice(&encode(&RunnerOrder { index, again }));
        self.request(
            &bytes,
            &[files.socket, files.launches, files.memory].map(AsRawFd::as_raw_fd),
            client,
        )
    }

    /// Starts the mounter of a world and returns its process id. The mounter is a child of the
    /// supervisor.
    pub fn mounter(&self, world: &[u8], socket: &OwnedFd, client: &OwnedFd) -> Result<i32> {
        let bytes = [&[MOUNTER_REQUEST], world].concat();
        self.request(&bytes, &[socket.as_raw_fd()], client)
    }

    /// Sends a request and waits for the answer. This takes only the time of a fork, because the
    /// spawner does nothing else. Fails if the client ends in the meantime.
    fn request(&self, bytes: &[u8], descriptors: &[i32], client: &OwnedFd) -> Result<i32> {
        calls::send_descriptors(self.socket.as_raw_fd(), bytes, descriptors)?;
        loop {
            let mut watched = [
                PollFd::new(&self.socket, PollFlags::IN),
                PollFd::from_borrowed_fd(client.as_fd(), PollFlags::IN),
            ];
            match poll(&mut watched, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let [answered, client_died] = watched.map(|fd| !fd.revents().is_empty());
            if answered {
                break;
            }
            if client_died {
                return Err(Errno(libc::ECANCELED));
            }
        }
        let mut answer = [0; 4];
        match calls::receive(self.socket.as_raw_fd(), &mut answer, libc::MSG_DONTWAIT)?.length {
            4 => match i32::from_ne_bytes(answer) {
                pid @ 1.. => Ok(pid),
                errno => Err(Errno(-errno)),
            },
            _ => Err(Errno(libc::EPIPE)),
        }
    }

    /// The process id of the spawner.
    pub fn pid(&self) -> i32 {
        self.process
    }

    /// Kills the spawner. The spawner is a child that has not been reaped, so the process id is
    /// valid.
    pub fn kill(&self) {
        let _ = calls::kill(self.process, libc::SIGKILL);
    }

    /// The reason why the supervisor must end, once the socket has shown that the spawner is dead.
    pub fn exit_reason(&self) -> SupervisorError {
        self.kill();
        let status = process::wait(self.process, libc::__WALL).map_or(-1, |waited| waited.status);
        SupervisorError::new(SupervisorStep::SpawnerEnd)
            .with_hint(SupervisorHint::Ended(process::end_of(status)))
    }
}

/// Makes this process die with the supervisor, which may have died before this call. Both are in
/// the same PID namespace.
fn set_parent_death_signal(supervisor: i32) {
    let asked = calls::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as usize, 0, 0, 0);
    if asked.is_err() || std::os::unix::process::parent_id() as i32 != supervisor {
        calls::exit(1);
    }
}

/// The state of the spawner's process.
struct SpawnerProcess<'a> {
    setup: &'a Setup,
    socket: OwnedFd,
    procfs: OwnedFd,
    supervisor: i32,
}

impl SpawnerProcess<'_> {
    fn serve(&self) -> ! {
        // The panic hook writes to the client, which the spawner must not do.
        std::panic::set_hook(Box::new(|_| std::process::abort()));
        let mut keep = vec![0, 1, 2, self.socket.as_raw_fd(), self.procfs.as_raw_fd()];
        for index in 0..self.setup.slots * self.setup.runners_per_slot {
            keep.extend(
                Backend::for_runner(&self.setup.handover, index)
                    .iter()
                    .flat_map(Backend::descriptors),
            );
        }
        let _ = calls::prctl(
            libc::PR_SET_NAME,
            c"millibox-spawn".as_ptr() as usize,
            0,
            0,
            0,
        );
        if close_all_but(keep).is_err() || confine::spawner().is_err() {
            calls::exit(1);
        }
        let mut buffer = vec![0; MAX_MESSAGE_BYTES];
        loop {
            let received = match calls::receive(self.socket.as_raw_fd(), &mut buffer, 0) {
                Ok(received) if received.length > 0 => received,
                // The supervisor has ended.
                _ => calls::exit(0),
            };
            let answer = match process::fork_sibling() {
                Ok(None) => self.child(
                    buffer.get(..received.length).unwrap_or(&[]),
                    &received.descriptors,
                ),
                Ok(Some(pid)) => pid,
                Err(Errno(errno)) => -errno,
            };
            for fd in received.descriptors.into_iter().filter(|&fd| fd >= 0) {
                let _ = calls::close(fd);
            }
            if calls::send(self.socket.as_raw_fd(), &answer.to_ne_bytes()).is_err() {
                calls::exit(0);
            }
        }
    }

    /// The main function of the requested child.
    fn child(&self, message: &[u8], descriptors: &[i32]) -> ! {
        set_parent_death_signal(self.supervisor);
        match (message, descriptors) {
            ([RUNNER_REQUEST, order @ ..], &[socket, launches, memory, ..])
                if socket.min(launches).min(memory) >= 0 =>
            {
                if let Ok(order) = decode::<RunnerOrder>(order) {
                    self.runner(&order, socket, launches, memory);
                }
            }
            ([MOUNTER_REQUEST, world @ ..], &[socket, ..]) if socket >= 0 => {
                self.mounter(world, socket)
            }
            _ => {}
        }
        calls::exit(1)
    }

    fn runner(&self, order: &RunnerOrder, socket: i32, launches: i32, memory: i32) {
        let setup = self.setup;
        let Some(backend) = Backend::for_runner(&setup.handover, order.index) else {
            return;
        };
        let mapped = memory::map_shared(sys::borrow(memory));
        let mut keep = backend.descriptors();
        keep.extend([0, 1, 2, socket, launches, self.procfs.as_raw_fd()]);
        let closed = close_all_but(keep);
        let shared: &'static Shared = match mapped
            .map_err(Errno::from)
            .and_then(|shared| closed.map(|()| shared))
        {
            Ok(shared) => shared,
            Err(errno) => {
                let failure = Failure::new(Step::Runner, errno);
                crate::prepared::send_report(
                    socket,
                    message::UNPREPARED,
                    &Report {
                        failure,
                        ..Report::default()
                    },
                );
                return;
            }
        };
        runner::main(RunnerSetup {
            shared,
            backend,
            socket,
            launches,
            procfs: self.procfs.as_raw_fd(),
            uid: setup.uid,
            gid: setup.gid,
            share_memory: setup.share_memory,
            again: order.again,
            cpu: setup.cpus.of_runner(order.index),
            runs_elsewhere: setup.cpus.of_runs().is_some(),
            pinned: setup.cpus.pinned(),
            // A pair uses two runners of one slot.
            runs_at_once: (setup.slots * setup.runners_per_slot.min(2)) as u64,
        });
    }

    fn mounter(&self, bytes: &[u8], socket: i32) {
        let procfs = self.procfs.as_raw_fd();
        if close_all_but(vec![0, 1, 2, socket, procfs]).is_err() {
            return;
        }
        // The supervisor has decoded the same bytes and made the same plan.
        let Ok(located) = decode::<Located>(bytes) else {
            return;
        };
        let located = devices::expand(located, self.setup.devices.as_deref());
        let Ok(plan) = template::plan(&located.world) else {
            return;
        };
        crate::mounter::main(&located, &plan, socket, procfs);
    }
}

/// Closes the descriptors with which runners limit their runs. The spawner has them, so the
/// supervisor does not need them.
pub fn close_runner_files(handover: &mut Handover) {
    match handover {
        Handover::Cgroup2 { base, .. } => {
            let _ = calls::close(std::mem::replace(base, -1));
        }
        Handover::Hybrid { runners } => runners.iter_mut().for_each(|files| files.limits.close()),
        Handover::Rlimit => {}
    }
}

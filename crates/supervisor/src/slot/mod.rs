//! Slots as the supervisor sees them: their runners and the state of each.
//!
//! ```text
//! Starting ─IDLE→ Idle ─PREPARE→ Ready ─LAUNCH→ Running ─ENDED→ Ending ─IDLE→ Idle
//!                                 ↑ │              │
//!                                 │ └─ Switching   └─DONE─┐
//!                                 │    └─IDLE→ Idle       │
//!                                 └───────────────────────┘
//! ```
//!
//! A runner that has a world accepts a launch while its next pid1 is still being prepared: the
//! launch waits in a socket. So the supervisor need not wake up only to learn that everything is
//! ready. But a runner whose last run used much receives no launch before everything is ready
//! ([`Runner::accepts_launch`]): the kernel may take seconds to remove what that run left.
//!
//! A run has begun when a target has received its launch. The supervisor holds both ends of the
//! launch socket, so it can receive the launch itself, with the run's descriptors, until a target
//! has ([`Runner::take_back`]): exactly one of the two gets it. That costs an ordinary run nothing,
//! and a run whose runner dies, hangs or cannot prepare goes to another runner.

use crate::backend::cgroup2::WATCHED_FILES;
use crate::cpus::mask_of;
use crate::launch::{End, Launch, Memory, Shared, Start, message};
use crate::runner::Order;
use crate::sockets::Sockets;
use crate::spawner::{RunnerFiles, Spawner};
use crate::supervisor::{Fatal, Setup};
use crate::sys::{self, Errno, Result, calls};
use crate::world::WorldId;
use core::sync::atomic::Ordering::{Acquire, SeqCst};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::{AsRawFd, OwnedFd};

mod figures;
mod kill;

/// A runner that is not idle this long after it was ordered to become idle is killed and restarted.
const SWITCH_TIMEOUT_NS: u64 = 10_000_000_000;
/// A run that used at most this is removed quickly, in the time that it took to create. CPU time is
/// always known; without cgroups the size of files is not, and kernels may be configured not to
/// charge their own memory.
const SMALL_RUN_CPU_NS: u64 = 20_000_000;
const SMALL_RUN_MEMORY_BYTES: u64 = 16 << 20;
/// After this time a runner is late. Making another one ready that has another world takes a few
/// milliseconds.
const LATE_RUNNER_NS: u64 = 20_000_000;
/// Strings up to this length stay in memory between runs.
const KEPT_STRING_BYTES: usize = 64 * 1024;

/// The state of a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It has not reported yet.
    Starting,
    /// It waits for a world.
    Idle,
    /// It has a world and accepts a launch.
    Ready,
    /// It serves this request.
    Running(u64),
    /// Its pid1 ended early; it will become idle.
    Ending,
    /// It was ordered to become idle.
    Switching,
    /// It is dead and could not be restarted yet.
    Dead,
}

/// The remaining processes of a killed run.
pub struct Survivors {
    /// The process that they descend from.
    pid1: i32,
    /// When to look for more of them (`CLOCK_MONOTONIC_RAW`).
    pub scan_at_ns: u64,
    /// How many processes the last look was for.
    most: usize,
}

/// One runner, as the supervisor sees it.
pub struct Runner {
    pub state: State,
    pub socket: OwnedFd,
    /// Both ends of the launch socket: the supervisor sends into one, targets receive from the
    /// other.
    launches_in: OwnedFd,
    launches_out: OwnedFd,
    pub shared: &'static Shared,
    /// The file that `shared` maps.
    pub memory: Memory,
    /// The world that it prepares or has prepared.
    pub world: Option<WorldId>,
    /// When the latest launch was sent (`CLOCK_MONOTONIC_RAW`).
    pub last_used: u64,
    /// When to check the run's clocks (`CLOCK_MONOTONIC_RAW`).
    pub real_deadline: Option<u64>,
    pub cpu_deadline: Option<u64>,
    /// When to check its file locks (the same clock).
    pub locks_deadline: Option<u64>,
    /// When to check whether a target has received the launch (the same clock).
    pub receipt_deadline: Option<u64>,
    /// When to kill the runner if it has not become idle (the same clock).
    pub switch_deadline: Option<u64>,
    /// pid1 could not be killed yet.
    pub kill_pending: bool,
    /// The run was killed and may have processes left.
    pub survivors: Option<Survivors>,
    /// The number of attempts to kill pid1 for this run.
    kill_attempts: u32,
    /// How often in a row a preparation ended without a reported reason.
    pub unexplained_deaths: u32,
    /// When its last run was reported as over, if that may have left much (`CLOCK_MONOTONIC_RAW`).
    cleanup_since_ns: Option<u64>,
    process: i32,
    /// The affinity mask of the runner of a lone slot; otherwise empty.
    cpu_mask: Vec<u64>,
    /// The number of the latest launch.
    launches: u64,
    /// Files of the present pid1's cgroup, if that is a fresh one, as `Backend::watched` names
    /// them.
    files: [Option<OwnedFd>; WATCHED_FILES],
    saw_oom_kill: bool,
    /// Sockets of the present run, if it has a loopback interface.
    pub sockets: Option<Sockets>,
    /// The file that limits the present run's CPU bandwidth, if it is limited.
    pub bandwidth: Option<OwnedFd>,
}

impl Runner {
    /// Asks the spawner to fork a runner.
    pub fn start(
        setup: &Setup,
        spawner: &Spawner,
        index: usize,
        memory: Memory,
        again: bool,
    ) -> std::result::Result<Runner, Fatal> {
        let failed = |errno: Errno| {
            let remedy = match errno.0 {
                libc::ETOOMANYREFS => {
                    "; this user has more descriptors on their way through sockets than we may \
                     have open (unix(7)): end what does not receive them, or raise the hard limit \
                     (ulimit -Hn)"
                }
                libc::EAGAIN => crate::messages::MORE_PROCESSES,
                _ => "",
            };
            format!(
                "cannot start a runner: {}{remedy}",
                crate::messages::errno_text(errno)
            )
        };
        let pair = || {
            socketpair(
                AddressFamily::UNIX,
                SocketType::SEQPACKET,
                SocketFlags::CLOEXEC,
                None,
            )
            .map_err(|errno| failed(errno.into()))
        };
        let (ours, its) = pair()?;
        let (launches_in, launches_out) = pair()?;
        let files = RunnerFiles {
            socket: &its,
            launches: &launches_out,
            memory: &memory.file,
        };
        let process = spawner
            .runner(index, again, &files, &setup.client)
            .map_err(failed)?;
        let shared = memory.shared;
        Ok(Runner {
            state: State::Starting,
            socket: ours,
            launches_in,
            launches_out,
            shared,
            memory,
            world: None,
            last_used: 0,
            real_deadline: None,
            cpu_deadline: None,
            locks_deadline: None,
            receipt_deadline: None,
            switch_deadline: None,
            kill_pending: false,
            survivors: None,
            kill_attempts: 0,
            unexplained_deaths: 0,
            cleanup_since_ns: None,
            process,
            cpu_mask: (setup
                .cpus
                .of_runs()
                .and_then(|_| setup.cpus.of_runner(index)))
            .map_or(Vec::new(), |cpu| mask_of(&[cpu])),
            // All runners that ever use this memory continue the count.
            launches: shared.launch.get().number,
            files: Default::default(),
            saw_oom_kill: false,
            sockets: None,
            bandwidth: None,
        })
    }

    /// The runner has reported that it waits for a world.
    pub fn set_idle(&mut self, epoll: &OwnedFd) {
        self.reset(epoll, State::Idle);
        self.world = None;
        self.cleanup_since_ns = None;
    }

    /// Receives descriptors of the present pid1's cgroup.
    pub fn set_files(&mut self, files: [Option<OwnedFd>; WATCHED_FILES]) {
        self.files = files;
        self.saw_oom_kill = false;
    }

    /// Resets the state after what was in the runner is over.
    pub fn reset(&mut self, epoll: &OwnedFd, state: State) {
        // Zygote and pid1 have the file open as well, so that closing the supervisor's does not end
        // the watch, and the kernel's notification may come some milliseconds late.
        if let [_, Some(events), ..] = &self.files {
            let _ = rustix::event::epoll::delete(epoll, events);
        }
        self.state = state;
        self.stop_clocks();
        self.switch_deadline = None;
        self.kill_pending = false;
        self.survivors = None;
        self.kill_attempts = 0;
        self.files = Default::default();
        self.bandwidth = None;
    }

    /// Stops all clocks of the run.
    pub fn stop_clocks(&mut self) {
        self.real_deadline = None;
        self.cpu_deadline = None;
        self.locks_deadline = None;
        self.receipt_deadline = None;
        self.sockets = None;
    }

    /// What the target of the running program noted before its exec; zeros if it has not reached
    /// that point.
    pub fn start_of_run(&self) -> Start {
        let start = self.shared.start.get();
        if start.number == self.launches {
            start
        } else {
            Start::default()
        }
    }

    /// The number of the latest launch.
    pub fn launch_number(&self) -> u64 {
        self.launches
    }

    /// Whether a target has received the latest launch. Otherwise nothing of its run has begun.
    pub fn is_launched(&self) -> bool {
        self.shared.launched.load(SeqCst) == self.launches
    }

    /// Whether the target is ready and waits for its launch.
    pub fn is_prepared(&self) -> bool {
        self.shared.prepared.load(Acquire) != 0
    }

    /// Its run is over, and the kernel begins to remove it.
    pub fn note_cleanup(&mut self, end: &End) {
        // A killed run may have left anything, and the CPU time of its children is unknown.
        let little = end.cpu_ns <= SMALL_RUN_CPU_NS
            && end.peak_memory <= SMALL_RUN_MEMORY_BYTES
            && end.pid1_died == 0;
        self.cleanup_since_ns = (!little).then(calls::monotonic_raw_ns);
    }

    /// Whether a launch that is sent now begins soon. If not, check again later: no event reports
    /// it.
    pub fn accepts_launch(&self) -> bool {
        self.cleanup_since_ns.is_none() || self.is_prepared()
    }

    /// Whether it takes so long to accept a launch that making another runner ready is better.
    pub fn is_late(&self) -> bool {
        let since = self.cleanup_since_ns.filter(|_| !self.is_prepared());
        since.is_some_and(|since| calls::monotonic_raw_ns().saturating_sub(since) >= LATE_RUNNER_NS)
    }

    /// Sends the runner a world.
    pub fn prepare(&mut self, world: WorldId, order: &Order, template: i32) {
        let mut bytes = vec![message::PREPARE];
        bytes.extend_from_slice(&millibox_wire::encode(order));
        self.state = State::Ready;
        self.world = Some(world);
        self.shared.stay_idle.store(0, SeqCst);
        if calls::send_descriptors(self.socket.as_raw_fd(), &bytes, &[template]).is_err() {
            // The runner is dead or dying; its socket reports that.
            self.kill_process();
        }
    }

    /// Makes a runner idle that serves no run.
    pub fn switch(&mut self) {
        self.shared.stay_idle.store(1, SeqCst);
        self.state = State::Switching;
        self.switch_deadline = Some(calls::monotonic_raw_ns().saturating_add(SWITCH_TIMEOUT_NS));
        self.kill_pid1(false);
    }

    /// Sends a run to the waiting target.
    pub fn launch(&mut self, launch: &Launch, strings: &[u8], descriptors: &[i32]) -> Result<()> {
        if !self.shared.strings.write(0, strings) {
            return Err(Errno(libc::E2BIG));
        }
        if strings.len() < KEPT_STRING_BYTES {
            // Do not keep the memory of a long launch for the short ones after it.
            if self.has_long_strings() {
                self.shared.strings.discard_after(KEPT_STRING_BYTES);
            }
        }
        self.launches += 1;
        self.shared.launch.set(Launch {
            number: self.launches,
            ..*launch
        });
        calls::send_descriptors(
            self.launches_in.as_raw_fd(),
            &[message::LAUNCH],
            descriptors,
        )
    }

    /// Receives the latest launch back and returns its descriptors. `None` if a target has received
    /// it, so that the run has begun.
    pub fn take_back(&self) -> Option<Vec<OwnedFd>> {
        // While the kernel is short of memory it does not report whether the launch is present; the
        // next check may.
        let received =
            calls::receive(self.launches_out.as_raw_fd(), &mut [0], libc::MSG_DONTWAIT).ok()?;
        Some(
            received
                .descriptors
                .into_iter()
                .filter_map(sys::adopt)
                .collect(),
        )
    }

    /// Makes the waiting pid1 and target wake up on this CPU; called before the launch.
    ///
    /// Both sleep, so only their affinity changes. If the target was killed a moment ago, its
    /// number may belong to another process of this user, which would then be moved to this CPU.
    pub fn move_target_to(&self, cpu: &[u64]) {
        if self.is_prepared() {
            for pid in [&self.shared.pid1, &self.shared.target] {
                let pid = pid.load(SeqCst);
                if pid > 0 {
                    // If this fails, the run begins on its runner's CPU, as others do.
                    let _ = calls::set_affinity_of(pid, cpu);
                }
            }
        }
    }

    /// Moves pid1, which has reported, to its runner's CPU, where it is removed.
    ///
    /// pid1 moves itself, too. But the supervisor has usually interrupted it, and a process that is
    /// not on a CPU is moved without the help of a kernel thread. The CPU that it moves to is then
    /// not idle, so the scheduler does not choose it for the client, which the supervisor wakes
    /// next.
    pub fn move_pid1_to_runner_cpu(&self) {
        let pid1 = self.shared.pid1.load(SeqCst);
        if pid1 > 0 && !self.cpu_mask.is_empty() {
            // The number belongs to pid1 until its zygote waits for it; see `move_target_to` for what may
            // happen after that.
            let _ = calls::set_affinity_of(pid1, &self.cpu_mask);
        }
    }

    fn has_long_strings(&self) -> bool {
        self.shared.launch.get().strings_length as usize >= KEPT_STRING_BYTES
    }
}

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
//! A runner with a world accepts a launch while its next pid1 is still being prepared, and the
//! launch waits in a socket. So the supervisor need not wake up only to learn that the runner is
//! ready. A runner whose last run used many resources is an exception ([`Runner::accepts_launch`]).
//! It receives no launch before it is ready, because the kernel may take seconds to remove that
//! run.
//!
//! A run has begun when a target has received its launch. The supervisor has both ends of the
//! launch socket open. Until a target has received the launch, the supervisor can receive it
//! itself, with the run's descriptors ([`Runner::take_back`]). Either the target or the supervisor
//! receives the launch, never both. This adds no cost to an ordinary run. A run whose runner dies,
//! hangs or cannot prepare a target goes to another runner.

use crate::backend::cgroup2::WATCHED_FILES;
use crate::cpus::mask_of;
use crate::launch::{End, Launch, Memory, Shared, Start, message};
use crate::messages::Fatal;
use crate::prepared::Order;
use crate::setup::Setup;
use crate::sockets::Sockets;
use crate::spawner::{RunnerFiles, Spawner};
use crate::sys::{self, Errno, Result, calls};
use crate::world::WorldId;
use core::sync::atomic::Ordering::{Acquire, SeqCst};
use millibox_wire::SupervisorStep;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::{AsRawFd, OwnedFd};

mod figures;
mod kill;

/// A runner that was ordered to become idle is killed and restarted after this time.
const SWITCH_TIMEOUT_NS: u64 = 10_000_000_000;
/// The kernel removes a run with at most this CPU time as quickly as it created the run. CPU time
/// is always known. Without cgroups the size of files is unknown, and a kernel may be configured
/// not to charge its own memory.
const SMALL_RUN_CPU_NS: u64 = 20_000_000;
const SMALL_RUN_MEMORY_BYTES: u64 = 16 << 20;
/// A runner that has been removing a run for this long is late. Preparing another runner for the
/// world takes a few milliseconds.
const LATE_RUNNER_NS: u64 = 20_000_000;
/// Strings up to this length stay in the shared memory between runs.
const KEPT_STRING_BYTES: usize = 64 * 1024;

/// The state of a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The runner has not reported yet.
    Starting,
    /// The runner waits for a world.
    Idle,
    /// The runner has a world and accepts a launch.
    Ready,
    /// The runner serves the request with this id.
    Running(u64),
    /// The runner's pid1 ended early, and the runner will become idle.
    Ending,
    /// The runner was ordered to become idle.
    Switching,
    /// The runner is dead and has not been restarted yet.
    Dead,
}

/// The remaining processes of a killed run.
pub struct Survivors {
    /// The process from which the remaining processes descend.
    pid1: i32,
    /// The time of the next scan (`CLOCK_MONOTONIC_RAW`).
    pub scan_at_ns: u64,
    /// The maximum number of processes that the last scan could kill.
    most: usize,
}

/// One runner, as the supervisor sees it.
pub struct Runner {
    pub state: State,
    pub socket: OwnedFd,
    /// The ends of the launch socket. The supervisor sends to `launches_in`, and targets receive
    /// from the other end.
    launches_in: OwnedFd,
    launches_out: OwnedFd,
    pub shared: &'static Shared,
    /// The file that `shared` maps.
    pub memory: Memory,
    /// The world that the runner prepares or has prepared.
    pub world: Option<WorldId>,
    /// The time at which the latest launch was sent (`CLOCK_MONOTONIC_RAW`).
    pub last_used: u64,
    /// The time of the next check of the real-time clock (`CLOCK_MONOTONIC_RAW`).
    pub real_deadline: Option<u64>,
    pub cpu_deadline: Option<u64>,
    /// The time of the next check of file locks (`CLOCK_MONOTONIC_RAW`).
    pub locks_deadline: Option<u64>,
    /// The time by which a target must have received the launch (`CLOCK_MONOTONIC_RAW`).
    pub receipt_deadline: Option<u64>,
    /// The time at which the supervisor first saw that the launch had left its socket although no
    /// target had reported it (`CLOCK_MONOTONIC_RAW`).
    pub received_at: Option<u64>,
    /// The time by which the runner must have become idle (`CLOCK_MONOTONIC_RAW`).
    pub switch_deadline: Option<u64>,
    /// Whether pid1 must still be killed.
    pub kill_pending: bool,
    /// The processes of a killed run that may remain.
    pub survivors: Option<Survivors>,
    /// The number of attempts to kill pid1 for this run.
    kill_attempts: u32,
    /// The number of consecutive preparations that ended without a reported reason.
    pub unexplained_deaths: u32,
    /// The time at which the end of the last run was reported, if that run may have left much to
    /// remove (`CLOCK_MONOTONIC_RAW`).
    cleanup_since_ns: Option<u64>,
    process: i32,
    /// The affinity mask of the runner of a lone slot; otherwise empty.
    cpu_mask: Vec<u64>,
    /// The number of the latest launch.
    launches: u64,
    /// The files of the current pid1's cgroup if each run has a new one, in the order of
    /// `Backend::watched`.
    files: [Option<OwnedFd>; WATCHED_FILES],
    saw_oom_kill: bool,
    /// The sockets of the current run, if it has a loopback interface.
    pub sockets: Option<Sockets>,
    /// The file that limits the current run's CPU bandwidth, if it is limited.
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
        let failed = crate::messages::failed::<Errno>(SupervisorStep::StartRunner);
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
            received_at: None,
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
            // Runners that use this memory one after the other share the count.
            launches: shared.launch.get().number,
            files: Default::default(),
            saw_oom_kill: false,
            sockets: None,
            bandwidth: None,
        })
    }

    /// Handles the runner's report that it waits for a world.
    pub fn set_idle(&mut self, epoll: &OwnedFd) {
        self.reset(epoll, State::Idle);
        self.world = None;
        self.cleanup_since_ns = None;
    }

    /// Stores the descriptors of the current pid1's cgroup.
    pub fn set_files(&mut self, files: [Option<OwnedFd>; WATCHED_FILES]) {
        self.files = files;
        self.saw_oom_kill = false;
    }

    /// Resets the state after the end of a run or of a preparation.
    pub fn reset(&mut self, epoll: &OwnedFd, state: State) {
        // Zygote and pid1 also have the file open, so closing the supervisor's descriptor does not
        // end the watch. In addition, the kernel's notification may come several milliseconds late.
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
        self.received_at = None;
        self.sockets = None;
    }

    /// The counters that the target read before its exec; zeros if it has not reached the exec.
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

    /// Whether a target has received the latest launch. Otherwise no part of its run has begun.
    pub fn is_launched(&self) -> bool {
        self.shared.launched.load(SeqCst) == self.launches
    }

    /// Whether the target is ready and waits for its launch.
    pub fn is_prepared(&self) -> bool {
        self.shared.prepared.load(Acquire) != 0
    }

    /// Records that the run has ended and that the kernel begins to remove it.
    pub fn note_cleanup(&mut self, end: &End) {
        // A killed run may have left any amount of work, and the CPU time of its children is
        // unknown.
        let little = end.cpu_ns <= SMALL_RUN_CPU_NS
            && end.peak_memory <= SMALL_RUN_MEMORY_BYTES
            && end.pid1_died == 0;
        self.cleanup_since_ns = (!little).then(calls::monotonic_raw_ns);
    }

    /// Whether a launch that is sent now would begin soon. If not, the caller must check again
    /// later, because no event reports the change.
    pub fn accepts_launch(&self) -> bool {
        self.cleanup_since_ns.is_none() || self.is_prepared()
    }

    /// Whether the runner takes so long to accept a launch that preparing another runner is better.
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

    /// Orders a runner without a run to become idle.
    pub fn switch(&mut self) {
        self.shared.stay_idle.store(1, SeqCst);
        self.state = State::Switching;
        self.switch_deadline = Some(calls::monotonic_raw_ns().saturating_add(SWITCH_TIMEOUT_NS));
        self.kill_pid1(false);
    }

    /// Sends a run to the waiting target.
    pub fn launch(
        &mut self,
        launch: &Launch,
        strings: &[u8],
        descriptors: &[i32],
        least_template_cpu_ns: u64,
    ) -> Result<()> {
        if !self.shared.strings.write(0, strings) {
            return Err(Errno(libc::E2BIG));
        }
        if strings.len() < KEPT_STRING_BYTES {
            // Do not keep the memory of a long launch for later short launches.
            if self.has_long_strings() {
                self.shared.strings.discard_after(KEPT_STRING_BYTES);
            }
        }
        self.launches += 1;
        self.shared.launch.set(Launch {
            number: self.launches,
            least_template_cpu_ns,
            ..*launch
        });
        calls::send_descriptors(
            self.launches_in.as_raw_fd(),
            &[message::LAUNCH],
            descriptors,
        )
    }

    /// Receives the latest launch in place of a target and returns its descriptors. Returns `None`
    /// if a target has received the launch and the run has therefore begun.
    pub fn take_back(&self) -> Option<Vec<OwnedFd>> {
        // If memory is short, the kernel does not report whether the launch is present. The next
        // check may succeed.
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

    /// Makes the waiting pid1 and target wake up on this CPU. It must be called before the launch.
    ///
    /// Both processes sleep, so only their affinity changes. If the target was killed a moment ago,
    /// its process id may belong to another process of this user, which would then move to this
    /// CPU.
    pub fn move_target_to(&self, cpu: &[u64]) {
        if self.is_prepared() {
            for pid in [&self.shared.pid1, &self.shared.target] {
                let pid = pid.load(SeqCst);
                if pid > 0 {
                    // If this fails, the run begins on its runner's CPU.
                    let _ = calls::set_affinity_of(pid, cpu);
                }
            }
        }
    }

    /// After pid1 has reported, moves it to its runner's CPU, where the kernel removes it.
    ///
    /// pid1 also moves itself. Usually, however, the supervisor has interrupted pid1, and a process
    /// that is not running moves without the help of a kernel thread. The destination CPU is then
    /// not idle, so the scheduler does not choose it for the client, which the supervisor wakes
    /// next.
    pub fn move_pid1_to_runner_cpu(&self) {
        let pid1 = self.shared.pid1.load(SeqCst);
        if pid1 > 0 && !self.cpu_mask.is_empty() {
            // The process id belongs to pid1 until its zygote reaps it. `move_target_to` explains
            // the effect of a later call.
            let _ = calls::set_affinity_of(pid1, &self.cpu_mask);
        }
    }

    fn has_long_strings(&self) -> bool {
        self.shared.launch.get().strings_length as usize >= KEPT_STRING_BYTES
    }
}

//! Slots as the supervisor sees them: their runners and the state of each.
//!
//! ```text
//! Settling ─IDLE→ Idle ─PREPARE→ Ready ─LAUNCH→ Running ─ENDED→ Ending ─IDLE→ Idle
//!                                 ↑ │              │
//!                                 │ └─ Switching   └─DONE─┐
//!                                 │    └─IDLE→ Idle       │
//!                                 └───────────────────────┘
//! ```
//!
//! A runner that has a world accepts a launch while its next pid1 is still being prepared: the
//! launch waits in a socket. So the supervisor need not wake up only to learn that everything is
//! ready. But a runner whose last run used much receives no launch before everything is ready
//! ([`Runner::takes_launch`]): the kernel may take seconds to remove what that run left.
//!
//! A run has begun when a target has received its launch. The supervisor holds both ends of the
//! launch socket, so it can receive the launch itself, with the run's descriptors, until a target
//! has ([`Runner::take_back`]): exactly one of the two gets it. That costs an ordinary run nothing,
//! and a run whose runner dies, hangs or cannot prepare goes to another runner.

use crate::backend::{
    self, Handover,
    cgroup2::{self, WATCHED},
};
use crate::cpus::mask_of;
use crate::launch::{End, Launch, Memory, Shared, Start, message};
use crate::runner::Order;
use crate::sockets::Sockets;
use crate::spawner::{RunnerFiles, Spawner};
use crate::supervisor::{Fatal, Setup};
use crate::sys::ascii::{keyed_number, leading_number};
use crate::sys::{self, Errno, Result, calls, process};
use crate::tree::{self, Used};
use crate::world::WorldId;
use core::sync::atomic::Ordering::{Acquire, SeqCst};
use millibox_wire::SupervisorStep;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::{AsRawFd, OwnedFd};

/// The number of attempts, a millisecond apart, to end a run whose launch has not reached its
/// target, before the whole runner is ended.
const MOST_KILLS: u32 = 1000;
/// A runner that is not idle this long after it was ordered to become idle is killed and restarted.
const LONGEST_SWITCH_NS: u64 = 10_000_000_000;

/// The state of a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It has not reported yet.
    Settling,
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
    Gone,
}

/// The remaining processes of a killed run.
pub struct Rest {
    /// The process that they descend from.
    pid1: i32,
    /// When to look for more of them (`CLOCK_MONOTONIC_RAW`).
    pub look_at_ns: u64,
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
    pub kill_again: bool,
    /// The run was killed and may have processes left.
    pub rest: Option<Rest>,
    /// The number of attempts to kill pid1 for this run.
    kills: u32,
    /// How often in a row a preparation ended without a reported reason.
    pub unexplained: u32,
    /// When its last run was reported as over, if that may have left much (`CLOCK_MONOTONIC_RAW`).
    left_much: Option<u64>,
    process: i32,
    /// The affinity mask of the runner of a lone slot; otherwise empty.
    held_on: Vec<u64>,
    /// The number of the latest launch.
    launches: u64,
    /// Files of the present pid1's cgroup, if that is a fresh one, as `Backend::watched` names
    /// them.
    files: [Option<OwnedFd>; WATCHED],
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
            state: State::Settling,
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
            kill_again: false,
            rest: None,
            kills: 0,
            unexplained: 0,
            left_much: None,
            process,
            held_on: (setup
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
    pub fn idle(&mut self, epoll: &OwnedFd) {
        self.over(epoll, State::Idle);
        self.world = None;
        self.left_much = None;
    }

    /// Receives descriptors of the present pid1's cgroup.
    pub fn watch(&mut self, files: [Option<OwnedFd>; WATCHED]) {
        self.files = files;
        self.saw_oom_kill = false;
    }

    /// Resets the state after what was in the runner is over.
    pub fn over(&mut self, epoll: &OwnedFd, state: State) {
        // Zygote and pid1 have the file open as well, so that closing the supervisor's does not end
        // the watch, and the kernel's notification may come some milliseconds late.
        if let [_, Some(events), ..] = &self.files {
            let _ = rustix::event::epoll::delete(epoll, events);
        }
        self.state = state;
        self.stop_clocks();
        self.switch_deadline = None;
        self.kill_again = false;
        self.rest = None;
        self.kills = 0;
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
    pub fn leaves(&mut self, end: &End) {
        // A killed run may have left anything, and the CPU time of its children is unknown.
        let little =
            end.cpu_ns <= LITTLE_CPU_NS && end.peak_memory <= LITTLE_MEMORY && end.pid1_died == 0;
        self.left_much = (!little).then(calls::monotonic_raw_ns);
    }

    /// Whether a launch that is sent now begins soon. If not, check again later: no event reports
    /// it.
    pub fn takes_launch(&self) -> bool {
        self.left_much.is_none() || self.is_prepared()
    }

    /// Whether it takes so long to accept a launch that making another runner ready is better.
    pub fn is_late(&self) -> bool {
        let since = self.left_much.filter(|_| !self.is_prepared());
        since.is_some_and(|since| calls::monotonic_raw_ns().saturating_sub(since) >= LATE_NS)
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
        self.switch_deadline = Some(calls::monotonic_raw_ns().saturating_add(LONGEST_SWITCH_NS));
        self.kill_pid1(false);
    }

    /// Sends a run to the waiting target.
    pub fn launch(&mut self, launch: &Launch, strings: &[u8], descriptors: &[i32]) -> Result<()> {
        if !self.shared.strings.write(0, strings) {
            return Err(Errno(libc::E2BIG));
        }
        if strings.len() < KEPT_STRINGS {
            // Do not keep the memory of a long launch for the short ones after it.
            if self.long_strings() {
                self.shared.strings.discard_after(KEPT_STRINGS);
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
    pub fn bring_to(&self, cpu: &[u64]) {
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
    pub fn send_runner(&self) {
        let pid1 = self.shared.pid1.load(SeqCst);
        if pid1 > 0 && !self.held_on.is_empty() {
            // The number belongs to pid1 until its zygote waits for it; see `bring_to` for what may
            // happen after that.
            let _ = calls::set_affinity_of(pid1, &self.held_on);
        }
    }

    fn long_strings(&self) -> bool {
        self.shared.launch.get().strings_length as usize >= KEPT_STRINGS
    }

    /// Kills the present pid1 and with it everything in its namespace: that of the running launch,
    /// or any if the runner must become idle.
    ///
    /// The launch may not have reached its target yet, and pid1 may be unknown. Then the caller has
    /// to repeat this, and meanwhile the target refuses the launch.
    ///
    /// Returns the figures of the killed processes; of many processes a bounded number is examined.
    /// On version 2 the cgroup has the figures. `memory`: whether to read their memory, too.
    pub fn kill_pid1(&mut self, memory: bool) -> Used {
        let mut used = Used::default();
        let shared = self.shared;
        let running = matches!(self.state, State::Running(_));
        if running {
            shared.revoked.store(self.launches, SeqCst);
        }
        // A target that has not received the launch by now hangs: pid1 in its preparation, or the
        // zygote before it.
        self.kills += 1;
        let hangs = self.kills > MOST_KILLS;
        let launches = self.launches;
        let wanted = || !running || hangs || shared.launched.load(SeqCst) == launches;
        let pid = shared.pid1.load(SeqCst);
        self.kill_again = true;
        if hangs && (pid == 0 || !self.is_launched()) {
            self.kill_process();
        }
        let Some(pid1) = rustix::process::Pid::from_raw(pid).filter(|_| wanted()) else {
            return used;
        };
        // The runner removes the number before it waits for the process. If it is the same before
        // and after the pidfd was opened, the pidfd refers to that process.
        let Ok(pidfd) = rustix::process::pidfd_open(pid1, rustix::process::PidfdFlags::empty())
        else {
            return used;
        };
        if shared.pid1.load(SeqCst) == pid && wanted() {
            // A process that has exceeded its bandwidth would not run in order to die. (On version
            // 2 the files belong to one run.)
            if let Some(file) = &self.bandwidth {
                let none = if self.files[0].is_some() {
                    backend::NO_BANDWIDTH
                } else {
                    backend::NO_QUOTA
                };
                let _ = rustix::io::write(file, none);
            }
            // Kill all of them at once, and pid1 last: pid1 would wake up and might have to wait
            // beside the processes that it has to kill, or make the supervisor wait. If pid1 sees
            // them die before its own end, `revoked` shows it that the supervisor killed them.
            match &self.files {
                // cgroup.kill, Linux 5.14
                [_, _, Some(kill), ..] => drop(rustix::io::write(kill, b"1")),
                _ => {
                    used = tree::kill_below(pid, MOST_KILLED, memory, || {
                        shared.pid1.load(SeqCst) == pid
                    })
                }
            }
            // ESRCH: the process has ended already.
            let _ = rustix::process::pidfd_send_signal(&pidfd, rustix::process::Signal::KILL);
            self.kill_again = false;
            let look_at_ns = calls::monotonic_raw_ns().saturating_add(LOOK_FOR_THE_REST_NS);
            self.rest = running.then_some(Rest {
                pid1: pid,
                look_at_ns,
                most: MOST_KILLED,
            });
        }
        used
    }

    /// Kills more of a killed run's processes, until pid1 is scheduled and the kernel kills all of
    /// them. Hundreds of computing processes that have lowered pid1's priority would otherwise
    /// compute for seconds. On version 2 all have been killed.
    pub fn kill_rest(&mut self) {
        let Some(Rest { pid1, most, .. }) = self.rest.take() else {
            return;
        };
        // The next run may be in preparation here before the end of this one was reported.
        let is_still = || self.shared.pid1.load(SeqCst) == pid1;
        if !is_still() || self.files[2].is_some() {
            return;
        }
        let before = calls::thread_cpu_ns();
        // A killed process is found again until pid1 has waited for it.
        let most = (most * 2).min(MOST_OF_THE_REST);
        tree::kill_below(pid1, most, false, is_still);
        let took = calls::thread_cpu_ns().saturating_sub(before);
        let look_at_ns = calls::monotonic_raw_ns()
            .saturating_add(LOOK_FOR_THE_REST_NS.max(took.saturating_mul(4)));
        self.rest = Some(Rest {
            pid1,
            look_at_ns,
            most,
        });
    }

    /// Kills the runner itself; its pid1 dies with it. The runner is a child that was not waited
    /// for, so the process id is valid.
    pub fn kill_process(&self) {
        if self.process > 0 {
            let _ = calls::kill(self.process, libc::SIGKILL);
        }
    }

    /// Waits for the runner's process after its death has closed the socket.
    pub fn reap(&mut self) -> i32 {
        self.kill_process();
        let process = std::mem::take(&mut self.process);
        process::wait(process, libc::__WALL).map_or(-1, |waited| waited.status)
    }

    // --- figures of a run in progress -------------------------------------------------

    /// CPU time that the runner's cgroup, or its run's processes, have used.
    ///
    /// The time of a process on another CPU counts once that CPU is interrupted, by its tick every
    /// few milliseconds at the latest. (Reading another process's clock does not add it:
    /// `thread_group_cputime()` in kernel/sched/cputime.c.)
    pub fn cpu_ns(&self, handover: &Handover, index: usize) -> u64 {
        let mut buffer = [0; 512];
        match handover {
            Handover::Hybrid { runners } => runners
                .get(index)
                .and_then(|files| {
                    calls::read_at_start(files.figures.cpu_usage, &mut buffer)
                        .ok()
                        .map(leading_number)
                })
                .unwrap_or(0),
            Handover::Cgroup2 { .. } => self.files[0]
                .as_ref()
                .and_then(|fd| calls::read_at_start(fd.as_raw_fd(), &mut buffer).ok())
                .and_then(|text| keyed_number(text, b"usage_usec"))
                .map_or(0, |micros| micros.saturating_mul(1000)),
            Handover::Rlimit => {
                let pid1 = self.shared.pid1.load(SeqCst);
                let used = crate::backend::rlimit::tree_cpu_ns(pid1);
                // If pid1 is over, its number may belong to another process; it has reported what
                // it used.
                if self.shared.pid1.load(SeqCst) == pid1 {
                    used
                } else {
                    0
                }
            }
        }
    }

    /// What the run used, from the files of its own cgroup.
    pub fn measure(&self, start: &Start, end: &mut End) -> Result<()> {
        let fd = |file: &Option<OwnedFd>| file.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        cgroup2::measure(self.files.each_ref().map(fd), start, end)
    }

    /// Discards an out-of-memory event of an earlier run.
    pub fn clear_out_of_memory(&mut self, handover: &Handover, index: usize) {
        if let Handover::Hybrid { runners } = handover
            && let Some(files) = runners.get(index)
        {
            let _ = take_event(files.oom_event);
        }
        self.saw_oom_kill = false;
    }

    /// Reads an out-of-memory event. Returns whether the run is out of memory.
    pub fn out_of_memory(&mut self, handover: &Handover, index: usize, limit: Option<u64>) -> bool {
        let happened = match handover {
            Handover::Hybrid { runners } => runners.get(index).is_some_and(|files| {
                let told = take_event(files.oom_event);
                // Before the target has its launch, nothing there belongs to the run: neither peak
                // nor limit, nor what happens when the cgroup is emptied after the previous run, or
                // removed.
                let taken = self.is_launched();
                // The event also reports a parent's limit. This run's own limit shows in its peak.
                let mut buffer = [0; 32];
                let peak = calls::read_at_start(files.figures.memory_peak, &mut buffer)
                    .map_or(0, leading_number);
                let stands = self.shared.standing.memory.load(SeqCst);
                told && taken && limit.is_some() && peak.saturating_add(CHARGED_AT_ONCE) >= stands
            }),
            Handover::Cgroup2 { .. } => {
                let number = |file: &Option<OwnedFd>, of: fn(&[u8]) -> u64| {
                    let mut buffer = [0; 256];
                    let fd = file.as_ref().map_or(-1, AsRawFd::as_raw_fd);
                    calls::read_at_start(fd, &mut buffer).map_or(0, of)
                };
                let [_, events, _, peak, _] = &self.files;
                // `oom_kill` would also count victims of a parent's limit and of the whole host.
                let refused = number(events, |text| keyed_number(text, b"oom").unwrap_or(0)) > 0;
                refused
                    || limit
                        .is_some_and(|limit| cgroup2::is_above(number(peak, leading_number), limit))
            }
            Handover::Rlimit => false,
        };
        self.saw_oom_kill |= happened;
        happened
    }

    /// Whether the present run was out of memory.
    pub fn saw_oom_kill(&self) -> bool {
        self.saw_oom_kill
    }
}

/// Reads an eventfd. Returns whether it had counted anything. A runner may have sent it, so the
/// read must not block.
fn take_event(fd: i32) -> bool {
    calls::is_readable(fd) && rustix::io::read(sys::borrow(fd), &mut [0; 8]).is_ok()
}

/// A run that used at most this is removed quickly, in the time that it took to create. CPU time is
/// always known; without cgroups the size of files is not, and kernels may be configured not to
/// charge their own memory.
const LITTLE_CPU_NS: u64 = 20_000_000;
const LITTLE_MEMORY: u64 = 16 << 20;
/// After this time a runner is late. Making another one ready that has another world takes a few
/// milliseconds.
const LATE_NS: u64 = 20_000_000;

/// The number of processes that the supervisor kills itself; finding them takes time that other
/// runs need.
const MOST_KILLED: usize = 16;

/// The bound of that number, which doubles each time while pid1 does not run.
const MOST_OF_THE_REST: usize = 512;
/// The time between killing some processes of a run and looking for more.
const LOOK_FOR_THE_REST_NS: u64 = 1_000_000;

/// The kernel charges memory in batches of 64 pages, and so may refuse that much.
const CHARGED_AT_ONCE: u64 = 64 * 4096;

/// Strings up to this length stay in memory between runs.
const KEPT_STRINGS: usize = 64 * 1024;

/// Closes all descriptors that are not in `keep`. If that fails the process ends, because they
/// belong to other runners or to the caller.
pub fn close_all_but(mut keep: Vec<i32>) -> Result<()> {
    keep.sort_unstable();
    let mut first = 0u32;
    for fd in keep {
        let fd = fd as u32;
        if fd > first {
            calls::close_range(first, fd - 1, 0)?;
        }
        first = first.max(fd + 1);
    }
    calls::close_range(first, u32::MAX, 0).map(drop)
}

//! Slots as the supervisor sees them: their runners, and what each is doing.
//!
//! ```text
//! Settling ─IDLE→ Idle ─PREPARE→ Ready ─LAUNCH→ Running ─ENDED→ Ending ─IDLE→ Idle
//!                                 ↑ │              │
//!                                 │ └─ Switching   └─DONE─┐
//!                                 │    └─IDLE→ Idle       │
//!                                 └───────────────────────┘
//! ```
//!
//! A runner that has a world takes a launch while its next pid1 is still being prepared, too: the
//! launch waits in a socket. So the supervisor need not be woken only to hear that all is ready.
//! But a runner whose last run used much is sent no launch before all is ready
//! ([`Runner::takes_launch`]): the kernel may take seconds to take apart what that run left.
//!
//! A launch has begun when a target has received it. The supervisor holds both ends of that socket,
//! so it can receive the launch itself, with the run's descriptors, as long as no target has
//! ([`Runner::take_back`]): exactly one of the two gets it. That costs an ordinary run nothing, and
//! a run whose runner dies, hangs or cannot prepare goes to another runner.

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
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::{AsRawFd, OwnedFd};

/// Attempts, a millisecond apart, to end a run whose launch has not reached its target, before
/// whatever is there is ended.
const MOST_KILLS: u32 = 1000;
/// A runner that has not become idle this long after it was told to is killed, and started again.
const LONGEST_SWITCH_NS: u64 = 10_000_000_000;

/// What a runner is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not yet heard of.
    Settling,
    /// Waits for a world.
    Idle,
    /// Has a world, and takes a launch.
    Ready,
    /// Runs this request.
    Running(u64),
    /// Its pid1 ended before its time; it will be idle.
    Ending,
    /// Has been told to become idle.
    Switching,
    /// Is dead, and could not be started again yet.
    Gone,
}

/// Processes of a run that has been killed.
pub struct Rest {
    /// Whom they are below.
    pid1: i32,
    /// When to look for more of them (`CLOCK_MONOTONIC_RAW`).
    pub look_at_ns: u64,
    /// How many were looked for the last time.
    most: usize,
}

/// One runner, from the supervisor's side.
pub struct Runner {
    pub state: State,
    pub socket: OwnedFd,
    /// Both ends of the socket for launches: where they are sent, and where targets receive them.
    launches_in: OwnedFd,
    launches_out: OwnedFd,
    pub shared: &'static Shared,
    /// What `shared` is a mapping of.
    pub memory: Memory,
    /// The world that it prepares or has prepared.
    pub world: Option<WorldId>,
    /// When its latest launch was sent (`CLOCK_MONOTONIC_RAW`).
    pub last_used: u64,
    /// When to look at the run's clocks (`CLOCK_MONOTONIC_RAW`).
    pub real_deadline: Option<u64>,
    pub cpu_deadline: Option<u64>,
    /// When to look at its file locks (the same clock).
    pub locks_deadline: Option<u64>,
    /// When to look whether a target has received the launch (the same clock).
    pub receipt_deadline: Option<u64>,
    /// When to kill the runner if it has not become idle (the same clock).
    pub switch_deadline: Option<u64>,
    /// pid1 could not yet be killed.
    pub kill_again: bool,
    /// The run has been killed, and may have processes left.
    pub rest: Option<Rest>,
    /// How often it was tried to kill pid1 for this run.
    kills: u32,
    /// How often in a row a preparation ended without a reason.
    pub unexplained: u32,
    /// When its last run was told over, if that may have left much (`CLOCK_MONOTONIC_RAW`).
    left_much: Option<u64>,
    process: i32,
    /// Where a lone slot's runner is held, as an affinity mask; else empty.
    held_on: Vec<u64>,
    /// Number of the latest launch.
    launches: u64,
    /// Of the present pid1's cgroup, where it is a fresh one: what `Backend::watched` names.
    files: [Option<OwnedFd>; WATCHED],
    saw_oom_kill: bool,
    /// Of the present run, where there is a loopback interface.
    pub sockets: Option<Sockets>,
    /// By what the present run's CPU bandwidth is limited, if it is.
    pub bandwidth: Option<OwnedFd>,
}

impl Runner {
    /// Has a runner forked by the spawner.
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
            // Every runner that ever uses this memory goes on counting.
            launches: shared.launch.get().number,
            files: Default::default(),
            saw_oom_kill: false,
            sockets: None,
            bandwidth: None,
        })
    }

    /// The runner has said that it waits for a world.
    pub fn idle(&mut self, epoll: &OwnedFd) {
        self.over(epoll, State::Idle);
        self.world = None;
        self.left_much = None;
    }

    /// Descriptors of the present pid1's cgroup.
    pub fn watch(&mut self, files: [Option<OwnedFd>; WATCHED]) {
        self.files = files;
        self.saw_oom_kill = false;
    }

    /// What was in the runner is over.
    pub fn over(&mut self, epoll: &OwnedFd, state: State) {
        // Its zygote and pid1 have the file open as well, so that closing ours does not end the
        // watch, and the kernel's word may come some milliseconds late.
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

    /// No limit that we look after ends the run any more.
    pub fn stop_clocks(&mut self) {
        self.real_deadline = None;
        self.cpu_deadline = None;
        self.locks_deadline = None;
        self.receipt_deadline = None;
        self.sockets = None;
    }

    /// What the running program's target noted before its exec; zeros if it has not come
    /// there.
    pub fn start_of_run(&self) -> Start {
        let start = self.shared.start.get();
        if start.number == self.launches {
            start
        } else {
            Start::default()
        }
    }

    /// Number of the latest launch.
    pub fn launch_number(&self) -> u64 {
        self.launches
    }

    /// Whether the latest launch has come to a target: else nothing of its run has begun.
    pub fn is_launched(&self) -> bool {
        self.shared.launched.load(SeqCst) == self.launches
    }

    /// Whether the target only waits for its launch.
    pub fn is_prepared(&self) -> bool {
        self.shared.prepared.load(Acquire) != 0
    }

    /// Its run is over, and will be taken apart now.
    pub fn leaves(&mut self, end: &End) {
        // Who was killed may have left anything, and nobody knows what its children used.
        let little =
            end.cpu_ns <= LITTLE_CPU_NS && end.peak_memory <= LITTLE_MEMORY && end.pid1_died == 0;
        self.left_much = (!little).then(calls::monotonic_raw_ns);
    }

    /// Whether a launch that is sent now begins at once or soon. If not, look again: nobody tells.
    pub fn takes_launch(&self) -> bool {
        self.left_much.is_none() || self.is_prepared()
    }

    /// Whether it takes so long to take a launch that it is better to make another runner ready.
    pub fn is_late(&self) -> bool {
        let since = self.left_much.filter(|_| !self.is_prepared());
        since.is_some_and(|since| calls::monotonic_raw_ns().saturating_sub(since) >= LATE_NS)
    }

    /// Gives the runner a world.
    pub fn prepare(&mut self, world: WorldId, order: &Order, template: i32) {
        let mut bytes = vec![message::PREPARE];
        bytes.extend_from_slice(&millibox_wire::encode(order));
        self.state = State::Ready;
        self.world = Some(world);
        self.shared.stay_idle.store(0, SeqCst);
        if calls::send_descriptors(self.socket.as_raw_fd(), &bytes, &[template]).is_err() {
            // It is dead or will be: its socket tells the rest.
            self.kill_process();
        }
    }

    /// Makes a runner idle in which nothing runs.
    pub fn switch(&mut self) {
        self.shared.stay_idle.store(1, SeqCst);
        self.state = State::Switching;
        self.switch_deadline = Some(calls::monotonic_raw_ns().saturating_add(LONGEST_SWITCH_NS));
        self.kill_pid1(false);
    }

    /// Hands a run to the waiting target.
    pub fn launch(&mut self, launch: &Launch, strings: &[u8], descriptors: &[i32]) -> Result<()> {
        if !self.shared.strings.write(0, strings) {
            return Err(Errno(libc::E2BIG));
        }
        if strings.len() < KEPT_STRINGS {
            // Room that a long launch took is not kept for the short ones after it.
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

    /// Receives the latest launch back: its descriptors. `None`: a target has received it, so the
    /// run has begun.
    pub fn take_back(&self) -> Option<Vec<OwnedFd>> {
        // While the kernel is short of memory it says nothing of whether the launch is there: the
        // next look may tell.
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

    /// Has pid1 and target, who are prepared and wait, wake up on this CPU; before the launch.
    ///
    /// Both sleep, so all that changes is where they may be. Should somebody have killed the target
    /// a moment ago its number might be another process's of our user, for whom this would be the
    /// CPU then.
    pub fn bring_to(&self, cpu: &[u64]) {
        if self.is_prepared() {
            for pid in [&self.shared.pid1, &self.shared.target] {
                let pid = pid.load(SeqCst);
                if pid > 0 {
                    // If it cannot be, the run begins where its runner is, as others do.
                    let _ = calls::set_affinity_of(pid, cpu);
                }
            }
        }
    }

    /// Has pid1, who has said its word, taken apart where its runner is held, and not here.
    ///
    /// It goes by itself, too. But we have mostly interrupted it, and who is not on the CPU at this
    /// moment is moved without the help of a thread of the kernel. The CPU that it comes to is not
    /// idle then, so the scheduler does not choose that for the client, whom we wake next.
    pub fn send_runner(&self) {
        let pid1 = self.shared.pid1.load(SeqCst);
        if pid1 > 0 && !self.held_on.is_empty() {
            // Until its zygote waits for it the number is its own; see `bring_to` for what comes
            // after.
            let _ = calls::set_affinity_of(pid1, &self.held_on);
        }
    }

    fn long_strings(&self) -> bool {
        self.shared.launch.get().strings_length as usize >= KEPT_STRINGS
    }

    /// Kills the present pid1 and with it everything in its namespace: that of the running
    /// launch, or, if the runner is to become idle, any.
    ///
    /// The launch may not have reached its target yet, and pid1 may not be known: then this
    /// is to be done again, and in the meantime the target refuses the launch.
    ///
    /// Returns what was seen of those that were killed. Of many processes some must do; on version
    /// 2 the cgroup tells. `memory`: whether to look at what they have of it, too.
    pub fn kill_pid1(&mut self, memory: bool) -> Used {
        let mut used = Used::default();
        let shared = self.shared;
        let running = matches!(self.state, State::Running(_));
        if running {
            shared.revoked.store(self.launches, SeqCst);
        }
        // Who has not come to take the launch after so long hangs, pid1 in its preparation or the
        // zygote before.
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
        // The runner takes the number back before it waits for the process: what was there
        // before and after the pidfd was opened was there meanwhile, so it is not another's.
        let Ok(pidfd) = rustix::process::pidfd_open(pid1, rustix::process::PidfdFlags::empty())
        else {
            return used;
        };
        if shared.pid1.load(SeqCst) == pid && wanted() {
            // Who has used more than his bandwidth would not come to die. (Version 2 has files of
            // each run.)
            if let Some(file) = &self.bandwidth {
                let none = if self.files[0].is_some() {
                    backend::NO_BANDWIDTH
                } else {
                    backend::NO_QUOTA
                };
                let _ = rustix::io::write(file, none);
            }
            // All at once, and pid1 last: it would be woken, and might have to wait beside those
            // that it is to end, or have us wait. If it sees them gone before its own end, it knows
            // from `revoked` whose doing that is.
            match &self.files {
                // cgroup.kill, Linux 5.14
                [_, _, Some(kill), ..] => drop(rustix::io::write(kill, b"1")),
                _ => {
                    used = tree::kill_below(pid, MOST_KILLED, memory, || {
                        shared.pid1.load(SeqCst) == pid
                    })
                }
            }
            // ESRCH: it is over already.
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

    /// Ends more of a killed run's processes, until pid1 comes to be scheduled and the kernel ends
    /// all: who computes in hundreds, and has lowered pid1's priority, would else compute on for
    /// seconds. On version 2 all have been ended.
    pub fn kill_rest(&mut self) {
        let Some(Rest { pid1, most, .. }) = self.rest.take() else {
            return;
        };
        // The next run may be in preparation here, before we have heard of the end of this one.
        let is_still = || self.shared.pid1.load(SeqCst) == pid1;
        if !is_still() || self.files[2].is_some() {
            return;
        }
        let before = calls::thread_cpu_ns();
        // Who has been ended is found again until pid1 has waited for it.
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

    /// Kills the runner itself; its pid1 dies with it. Our child, not yet waited for, so the
    /// process id is still its.
    pub fn kill_process(&self) {
        if self.process > 0 {
            let _ = calls::kill(self.process, libc::SIGKILL);
        }
    }

    /// Waits for the runner's process, whose socket has been closed by its death.
    pub fn reap(&mut self) -> i32 {
        self.kill_process();
        let process = std::mem::take(&mut self.process);
        process::wait(process, libc::__WALL).map_or(-1, |waited| waited.status)
    }

    // --- figures of a run that goes on ------------------------------------------------

    /// CPU time that the runner's cgroup (or its run's processes) has used.
    ///
    /// What is running on another CPU than ours counts when that is interrupted, by its tick every
    /// few milliseconds at the latest. (Asking for the clock of another process does not have it
    /// counted: `thread_group_cputime()` in kernel/sched/cputime.c.)
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
                // If it is over by now its number may have been another's meanwhile; it has told
                // what it used.
                if self.shared.pid1.load(SeqCst) == pid1 {
                    used
                } else {
                    0
                }
            }
        }
    }

    /// What the run used, by the files of its own cgroup.
    pub fn measure(&self, start: &Start, end: &mut End) -> Result<()> {
        let fd = |file: &Option<OwnedFd>| file.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        cgroup2::measure(self.files.each_ref().map(fd), start, end)
    }

    /// Takes back an out-of-memory event that was an earlier run's.
    pub fn clear_out_of_memory(&mut self, handover: &Handover, index: usize) {
        if let Handover::Hybrid { runners } = handover
            && let Some(files) = runners.get(index)
        {
            let _ = take_event(files.oom_event);
        }
        self.saw_oom_kill = false;
    }

    /// Reads an out-of-memory event; whether the run is out of memory.
    pub fn out_of_memory(&mut self, handover: &Handover, index: usize, limit: Option<u64>) -> bool {
        let happened = match handover {
            Handover::Hybrid { runners } => runners.get(index).is_some_and(|files| {
                let told = take_event(files.oom_event);
                // Until the target has its launch nothing there is the run's: neither peak nor
                // limit, nor what happens when the cgroup is emptied after the run before, or goes.
                let taken = self.is_launched();
                // The event comes for a parent's limit, too; this run's own shows in its peak.
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
                // Not `oom_kill`: that counts victims of a parent's limit and of the whole host,
                // too.
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

/// Takes what an eventfd has counted; whether there was anything. It may be one that a runner has
/// sent, so it is not trusted not to wait.
fn take_event(fd: i32) -> bool {
    calls::is_readable(fd) && rustix::io::read(sys::borrow(fd), &mut [0; 8]).is_ok()
}

/// What a run may have used that is taken apart in next to no time: it takes no longer than it took
/// to make. CPU time is what there always is; without cgroups nobody knows of files, and kernels
/// may be told not to charge for their own memory.
const LITTLE_CPU_NS: u64 = 20_000_000;
const LITTLE_MEMORY: u64 = 16 << 20;
/// After so long a runner is late. To make another runner ready, from another world, takes a few
/// milliseconds.
const LATE_NS: u64 = 20_000_000;

/// How many processes the supervisor ends itself; finding them takes time that is not only
/// this run's.
const MOST_KILLED: usize = 16;

/// The same, each time twice as many, while pid1 does not come to do it.
const MOST_OF_THE_REST: usize = 512;
/// How long after the end of some of a run's processes more are looked for.
const LOOK_FOR_THE_REST_NS: u64 = 1_000_000;

/// What the kernel charges at once, and so may refuse: 64 pages.
const CHARGED_AT_ONCE: u64 = 64 * 4096;

/// Strings up to this length stay in memory between runs.
const KEPT_STRINGS: usize = 64 * 1024;

/// Closes all descriptors that are not in `keep`. Who cannot does not go on: they are other
/// runners', or the caller's.
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

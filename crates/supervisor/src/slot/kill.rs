//! Kills a run, or the whole runner.

use super::{Runner, State, Survivors};
use crate::backend;
use crate::sys::{calls, process};
use crate::tree::{self, Used};
use core::sync::atomic::Ordering::SeqCst;

/// The number of attempts, a millisecond apart, to end a run whose launch has not reached its
/// target, before the whole runner is killed.
const MAX_KILL_ATTEMPTS: u32 = 1000;
/// The number of processes that the supervisor initially kills itself. Finding them takes time that
/// other runs need.
const INITIAL_KILL_PROCESSES: usize = 16;
/// The upper bound of that number, which doubles with each scan until pid1 runs.
const MAX_KILL_PROCESSES: usize = 512;
/// The time between killing some processes of a run and looking for more.
const SURVIVOR_SCAN_INTERVAL_NS: u64 = 1_000_000;

impl Runner {
    /// Kills the current pid1, and with it all processes in its namespace. For a run, only the pid1
    /// of the running launch is killed; for a runner that must become idle, any pid1.
    ///
    /// If the launch has not reached its target yet or pid1 is unknown, the caller must repeat the
    /// call. Meanwhile the target refuses the launch.
    ///
    /// Returns the figures of the killed processes, of which only a bounded number is examined.
    /// With version 2 cgroups, the cgroup has the figures. `memory` selects whether to read the
    /// memory of the processes.
    pub fn kill_pid1(&mut self, memory: bool) -> Used {
        let mut used = Used::default();
        let shared = self.shared;
        let running = matches!(self.state, State::Running(_));
        if running {
            shared.revoked.store(self.launches, SeqCst);
        }
        // If the target has not received the launch by now, pid1 hangs in its preparation, or the
        // zygote hangs before it.
        self.kill_attempts += 1;
        let hangs = self.kill_attempts > MAX_KILL_ATTEMPTS;
        let launches = self.launches;
        let wanted = || !running || hangs || shared.launched.load(SeqCst) == launches;
        // The template of a prepared program survives when a run is killed, and ends with its
        // world.
        let number = match shared.template_init.load(SeqCst) {
            0 => &shared.pid1,
            _ if running => &shared.pid1,
            _ => &shared.template_init,
        };
        let pid = number.load(SeqCst);
        let by_cgroup = self.is_alone_in_cgroup() || !running;
        self.kill_pending = true;
        if hangs && (pid == 0 || !self.is_launched()) {
            self.kill_process();
        }
        let Some(pid1) = rustix::process::Pid::from_raw(pid).filter(|_| wanted()) else {
            return used;
        };
        // The zygote clears the process id before it reaps the process. If the id is the same
        // before and after pidfd_open(2), the pidfd refers to that process.
        let Ok(pidfd) = rustix::process::pidfd_open(pid1, rustix::process::PidfdFlags::empty())
        else {
            return used;
        };
        if number.load(SeqCst) == pid && wanted() {
            // A process that has exceeded its bandwidth would not be scheduled and could not exit.
            // (With version 2 cgroups, the files belong to one run.)
            if let Some(file) = &self.bandwidth {
                let none = if self.files[0].is_some() {
                    backend::NO_BANDWIDTH
                } else {
                    backend::NO_QUOTA
                };
                let _ = rustix::io::write(file, none);
            }
            // Kill all processes at once, and pid1 last. A pid1 that wakes up earlier might compete
            // for the CPU with the processes that it must kill, or delay the supervisor. If pid1
            // sees them die before it dies itself, `revoked` shows that the supervisor killed them.
            match &self.files {
                // cgroup.kill, Linux 5.14
                [_, _, Some(kill), ..] if by_cgroup => drop(rustix::io::write(kill, b"1")),
                _ => {
                    used = tree::kill_descendants(pid, INITIAL_KILL_PROCESSES, memory, || {
                        number.load(SeqCst) == pid
                    })
                }
            }
            // The error ESRCH means that the process has already ended.
            let _ = rustix::process::pidfd_send_signal(&pidfd, rustix::process::Signal::KILL);
            self.kill_pending = false;
            let scan_at_ns = calls::monotonic_raw_ns().saturating_add(SURVIVOR_SCAN_INTERVAL_NS);
            self.survivors = running.then_some(Survivors {
                pid1: pid,
                scan_at_ns,
                most: INITIAL_KILL_PROCESSES,
            });
        }
        used
    }

    /// Whether a version 2 cgroup contains only processes of the current run. If the run is a copy
    /// of a template, the template is in the same cgroup.
    fn is_alone_in_cgroup(&self) -> bool {
        self.shared.template_init.load(SeqCst) == 0
    }

    /// Kills more processes of a killed run, until pid1 is scheduled and the kernel kills all of
    /// them. Otherwise hundreds of busy processes that have lowered pid1's priority would continue
    /// for seconds. With version 2 cgroups, all processes have already been killed.
    pub fn kill_survivors(&mut self) {
        let Some(Survivors { pid1, most, .. }) = self.survivors.take() else {
            return;
        };
        // The preparation of the next run may begin before the end of this run is reported.
        let is_same = || self.shared.pid1.load(SeqCst) == pid1;
        if !is_same() || (self.files[2].is_some() && self.is_alone_in_cgroup()) {
            return;
        }
        let before = calls::thread_cpu_ns();
        // A scan finds a killed process again until pid1 has reaped it.
        let most = (most * 2).min(MAX_KILL_PROCESSES);
        tree::kill_descendants(pid1, most, false, is_same);
        let took = calls::thread_cpu_ns().saturating_sub(before);
        let scan_at_ns = calls::monotonic_raw_ns()
            .saturating_add(SURVIVOR_SCAN_INTERVAL_NS.max(took.saturating_mul(4)));
        self.survivors = Some(Survivors {
            pid1,
            scan_at_ns,
            most,
        });
    }

    /// Kills the runner itself; its pid1 dies with it. The runner is a child that has not been
    /// reaped, so the process id is valid.
    pub fn kill_process(&self) {
        if self.process > 0 {
            let _ = calls::kill(self.process, libc::SIGKILL);
        }
    }

    /// Reaps the runner's process after its death has closed the socket.
    pub fn reap(&mut self) -> i32 {
        self.kill_process();
        let process = std::mem::take(&mut self.process);
        process::wait(process, libc::__WALL).map_or(-1, |waited| waited.status)
    }
}

//! The init process of a prepared program's template.
//!
//! A template is a program that was started once, up to the point at which it announced that it is
//! ready. Each run is a copy of it (fork(2)) in fresh namespaces. docs/internals/prepared.md
//! describes the design; these are the processes:
//!
//! ```text
//! zygote ─clone3→ init process ─clone→ template (a target that has executed the program)
//!                      └────────────────clone3 (by the template, CLONE_PARENT)→ pid1 ─fork→ copy
//! ```
//!
//! The init process is pid1 of the template's PID namespace. It runs in its runner's memory, so the
//! rules of [`crate::sys`] apply. It is the only one of these processes that communicates with the
//! supervisor: it maps the ids of each run, receives the launch, sets the limits, reads the
//! counters and reports. So the template needs no rights and has no descriptors except its end of
//! one socket.
//!
//! pid1 of a run is in the template's memory, because only a process with that memory can copy it.
//! Its parent is the init process (`CLONE_PARENT`), so the kernel informs the init process when the
//! run has ended, and reports its usage. Only the wait status of the run's first process comes from
//! the template's memory.

mod checks;
mod problem;
mod run;

pub use problem::{failure, problem};

use crate::backend::{Backend, hybrid};
use crate::launch::{End, Failure, Start, TemplateFigures, message as launched};
use crate::null;
use crate::prepared::{Order, Prepared, Program, Runner, give_up};
use crate::ready_protocol::{Failed, message};
use crate::run_mounts::RunMount;
use crate::sockets;
use crate::sys::ascii::Line;
use crate::sys::{Errno, calls, process};
use crate::target;
use crate::tree;
use core::ffi::CStr;
use core::sync::atomic::AtomicI32;
use core::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use millibox_wire::{Network, ProcessEnd, Step, TemplateProblem, Unfit};
use problem::unfit_failure;
use zerocopy::FromBytes;

/// The system calls that a template may make even if its copies may not. They create the namespaces
/// of a run and its mounts, and reset what a run must not inherit. None of them has a sixth
/// argument.
pub const TEMPLATE_CALLS: [u32; 16] = [
    libc::SYS_capset as u32,
    libc::SYS_chdir as u32,
    libc::SYS_clone3 as u32,
    libc::SYS_dup3 as u32,
    libc::SYS_fcntl as u32,
    libc::SYS_mkdirat as u32,
    libc::SYS_mount as u32,
    libc::SYS_move_mount as u32,
    libc::SYS_open_tree as u32,
    libc::SYS_openat as u32,
    libc::SYS_prctl as u32,
    libc::SYS_rt_sigaction as u32,
    libc::SYS_rt_sigprocmask as u32,
    libc::SYS_seccomp as u32,
    libc::SYS_sigaltstack as u32,
    libc::SYS_symlinkat as u32,
];

/// The time that a template has for each step after it is ready.
const STEP_TIMEOUT_NS: u64 = 5_000_000_000;

/// The time between two checks of the CPU time of a template that is not ready.
const CPU_CHECK_INTERVAL_NS: u64 = 20_000_000;

/// Returns the reason why the program cannot have a template in this world.
pub fn unfit(runner: &Runner, order: &Order, is_shared: bool) -> Option<TemplateProblem> {
    order.program.as_ref()?;
    let is_staged = |(_, mount): &(u32, RunMount)| {
        matches!(
            mount,
            RunMount::OpenStage { .. } | RunMount::FromStage { .. }
        )
    };
    let unfit = if !runner.share_memory {
        Unfit::SeparatePid1
    } else if order.mounts.iter().any(is_staged) {
        Unfit::MountBelowTmpfs
    } else if order.uid == 0 || order.gid == 0 {
        Unfit::RootInside
    } else if order.makes_namespaces {
        Unfit::Namespaces
    } else if order.seccomp.is_some() && !is_shared {
        Unfit::Seccomp
    } else {
        return None;
    };
    Some(TemplateProblem::Unfit(unfit))
}

fn at(step: Step) -> impl Fn(Errno) -> Failure {
    move |errno| Failure::new(step, errno)
}

/// The main function of the init process, after it has prepared its namespaces. Starts the template
/// and serves its runs.
pub fn main(prepared: &Prepared, program: Program) -> ! {
    if !prepared.runner.backend.separates_copies() {
        give_up(prepared, unfit_failure(Unfit::Backend));
    }
    let [control, its] = match calls::socket_pair() {
        Ok(pair) => pair,
        Err(errno) => give_up(prepared, Failure::new(Step::Ready, errno)),
    };
    // The first process of a run is process 2 of its namespace. Libraries detect a fork by a
    // changed process id (random numbers of OpenSSL, names of Python's tempfile), so the template
    // must not be process 2.
    let unused = AtomicI32::new(0);
    let how = process::Clone {
        flags: libc::CLONE_VM as u64,
        into_cgroup: None,
    };
    let stack = &prepared.runner.target_stack;
    let burnt = process::run_child(how, stack, |()| calls::exit(0), &(), &unused, |_| {});
    if let Err(errno) = burnt {
        give_up(prepared, Failure::new(Step::CloneTarget, errno));
    }
    let for_target = Prepared {
        program: Some(Program {
            control: its,
            ..program
        }),
        ..*prepared
    };
    process::spawn_and_replace_caller(stack, target::main, &for_target, |template| {
        let template = match template {
            Ok(template) => template,
            Err(errno) => give_up(prepared, Failure::new(Step::CloneTarget, errno)),
        };
        // With this end closed, the socket reports the template's end.
        let _ = calls::close(its);
        let mut init = Init {
            runner: prepared.runner,
            program,
            uid: prepared.uid,
            gid: prepared.gid,
            control,
            template,
            has_loopback: prepared.network == Network::Loopback,
            figures: TemplateFigures::default(),
            idle_memory: None,
            left_memory: 0,
            sockets: 0,
            peak_tasks: 0,
        };
        match init.serve() {
            Ok(()) => calls::exit(0),
            Err(failure) => give_up(prepared, failure),
        }
    })
}

struct Init<'a> {
    runner: &'a Runner,
    program: Program<'a>,
    uid: u32,
    gid: u32,
    /// The socket to the template.
    control: i32,
    /// The process id of the template.
    template: i32,
    /// Whether each run has a network namespace with a loopback interface.
    has_loopback: bool,
    figures: TemplateFigures,
    /// The memory in the cgroup when the first copy was prepared.
    idle_memory: Option<u64>,
    /// The memory in the cgroup before the template started.
    left_memory: u64,
    /// The sockets of the network namespace that belong to the template.
    sockets: u64,
    /// The highest number of tasks in the cgroup before the current copy.
    peak_tasks: u64,
}

/// The network namespace of a run.
struct RunNetwork<'a> {
    runner: &'a Runner,
    /// pid1 of the run.
    pidfd: i32,
}

impl RunNetwork<'_> {
    /// The main function of the process that prepares the namespace. Its exit status is an errno.
    fn main(&self) -> ! {
        let prepared = calls::setns(self.pidfd, libc::CLONE_NEWUSER | libc::CLONE_NEWNET)
            .and_then(|_| calls::loopback_up())
            .and_then(|()| sockets::prepare(self.runner));
        calls::exit(prepared.err().map_or(0, |errno| errno.0))
    }
}

/// A copy that waits for its launch.
struct Copy {
    /// pid1 of the run.
    pid1: i32,
    pidfd: i32,
    /// The copy itself.
    process: i32,
}

impl Init<'_> {
    /// Serves runs until the template must be restarted. An error also ends the template.
    fn serve(&mut self) -> Result<(), Failure> {
        let begin = calls::monotonic_raw_ns();
        self.await_ready(begin)?;
        self.sockets = sockets::count(self.runner).map_err(at(Step::Network))?;
        let shared = self.runner.shared;
        let mut runs = 0;
        loop {
            let copy = self.make_copy()?;
            if runs == 0 {
                // If libraries end their threads before a fork, they have done so by now.
                self.check_threads()?;
            }
            let is_fit = self.reset(&copy)? && self.run(&copy)?;
            if !is_fit || self.has_ended().is_some() || !self.has_no_other_sockets()? {
                return Ok(());
            }
            runs += 1;
            let age = calls::monotonic_raw_ns().saturating_sub(begin);
            if runs >= self.program.order.runs || age >= self.program.order.age_ns {
                return Ok(());
            }
            self.runner.backend.lift_limits(shared)?;
            self.send_files()?;
            shared.launched.store(0, Relaxed);
            shared.reported.store(0, Relaxed);
            shared.start.set(Start::default());
            shared.failure.set(Failure::default());
        }
    }

    /// Waits until the template is ready, within its limits.
    fn await_ready(&mut self, begin: u64) -> Result<(), Failure> {
        let order = self.program.order;
        let deadline = begin.saturating_add(order.real_time_ns);
        while !calls::wait_readable([self.control, -1], Some(CPU_CHECK_INTERVAL_NS))[0]
            && calls::monotonic_raw_ns() < deadline
        {
            self.check_cpu_time()?;
        }
        let mut byte = [0; 1];
        let received = self.receive(&mut byte, deadline)?;
        if received.length != 1 || byte != [message::READY] || received.from != self.template {
            return Err(unfit_failure(Unfit::Protocol));
        }
        self.figures = TemplateFigures {
            is_template: 1,
            cpu_ns: self.check_cpu_time()?,
            memory_bytes: 0,
        };
        self.runner.shared.start.set(Start::default());
        self.check_mappings()?;
        self.runner.backend.lift_limits(self.runner.shared)?;
        calls::send(self.control, self.program.setup).map_err(at(Step::Ready))
    }

    /// The CPU time of the template since its exec, which must be within its limit.
    fn check_cpu_time(&self) -> Result<u64, Failure> {
        let start = self.runner.shared.start.get();
        if start.exec_ns == 0 {
            return Ok(0);
        }
        let mut now = Start::default();
        self.runner.backend.start(&mut now)?;
        if matches!(self.runner.backend, Backend::Rlimit) {
            now.cpu_ns = tree::cpu_ns(self.template);
        }
        let used = now.cpu_ns.saturating_sub(start.cpu_ns);
        if used > self.program.order.cpu_time_ns {
            return Err(failure(TemplateProblem::CpuTime));
        }
        Ok(used)
    }

    /// Sends the supervisor the files of the cgroup for the next run. The supervisor has closed
    /// those of the last run.
    fn send_files(&self) -> Result<(), Failure> {
        let Some(watched) = self.runner.backend.watched() else {
            return Ok(());
        };
        let count = watched.iter().take_while(|&&fd| fd >= 0).count();
        let files = watched.get(..count).unwrap_or_default();
        calls::send_descriptors(self.runner.socket, &[launched::READY], files)
            .map_err(at(Step::Runner))
    }

    /// Whether no socket of earlier runs is left. The next run could reach such a socket; the
    /// zygote prevents that.
    fn has_no_other_sockets(&self) -> Result<bool, Failure> {
        let count = sockets::count(self.runner).map_err(at(Step::Network))?;
        Ok(count <= self.sockets)
    }

    /// Lets the template make a copy of itself, and maps its ids.
    fn make_copy(&self) -> Result<Copy, Failure> {
        let deadline = calls::monotonic_raw_ns().saturating_add(STEP_TIMEOUT_NS);
        calls::send(self.control, &[message::CLONE]).map_err(|_| self.ended_or(Unfit::Protocol))?;
        let pid1 = self.expect(message::BORN, deadline)?;
        if pid1 == self.template {
            return Err(unfit_failure(Unfit::Protocol));
        }
        // The process id comes from the kernel, and the process is a child that has not been
        // reaped.
        let pidfd = process::pidfd(pid1).map_err(at(Step::Ready))?;
        let host_pid = self.host_pid(pidfd).map_err(at(Step::Ready))?;
        self.map_ids(host_pid)?;
        if self.has_loopback {
            self.prepare_network(pidfd)?;
        }
        let streams = null::open(self.runner).map_err(at(Step::Descriptors))?;
        let sent = calls::send_descriptors(self.control, &[message::MAPPED], &streams);
        for fd in streams {
            let _ = calls::close(fd);
        }
        sent.map_err(at(Step::Ready))?;
        let process = self.expect(message::PREPARED, deadline)?;
        self.runner.shared.pid1.store(host_pid, SeqCst);
        Ok(Copy {
            pid1,
            pidfd,
            process,
        })
    }

    /// Prepares the network namespace of a run, which its pid1 has just created. The init process
    /// cannot enter that namespace and return from it, so a child does, in the user namespace that
    /// owns it. No code of the run exists yet.
    fn prepare_network(&self, pidfd: i32) -> Result<(), Failure> {
        let how = process::Clone {
            flags: libc::CLONE_VM as u64,
            into_cgroup: None,
        };
        let network = RunNetwork {
            runner: self.runner,
            pidfd,
        };
        // The template has left this stack with its exec.
        let stack = &self.runner.target_stack;
        let unused = AtomicI32::new(0);
        let waited = process::run_child(how, stack, RunNetwork::main, &network, &unused, |_| {})
            .map_err(at(Step::Network))?;
        match process::end_of(waited.status) {
            ProcessEnd::Exited(0) => Ok(()),
            ProcessEnd::Exited(errno) => Err(Failure::new(Step::Network, Errno(errno))),
            _ => Err(Failure::new(Step::Network, Errno(libc::EINTR))),
        }
    }

    /// Maps the ids of a run to the same ids in the template's user namespace.
    fn map_ids(&self, host_pid: i32) -> Result<(), Failure> {
        let map = |file: &[u8], id: u32| {
            let path = Line::<48>::new()
                .number(host_pid as u64)
                .text(file)
                .text(b"\0");
            let line = Line::<32>::new()
                .number(id.into())
                .text(b" ")
                .number(id.into())
                .text(b" 1");
            calls::write_file(self.runner.procfs, c_str(path.as_bytes()), line.as_bytes())
        };
        map(b"/uid_map", self.uid).map_err(at(Step::UidMap))?;
        map(b"/gid_map", self.gid).map_err(at(Step::GidMap))
    }

    /// Resets the counters for the next run, so that its preparation does not count. Returns false
    /// if the cgroup contains too much memory of earlier runs.
    fn reset(&mut self, copy: &Copy) -> Result<bool, Failure> {
        let shared = self.runner.shared;
        let backend = &self.runner.backend;
        let counters = at(Step::Counters);
        if let Some(mut usage) = backend.memory().map_err(&counters)? {
            let idle = *self.idle_memory.get_or_insert_with(|| {
                let before = backend.memory_before_template(shared);
                self.figures.memory_bytes = usage.saturating_sub(before);
                self.left_memory = shared.applied_limits.left_memory.load(Relaxed);
                usage
            });
            let left_of = |usage: u64| self.left_memory + usage.saturating_sub(idle);
            let max_leftover = hybrid::max_leftover(self.has_loopback);
            let begin = calls::monotonic_raw_ns();
            while self.has_loopback
                && left_of(usage) > max_leftover
                && calls::monotonic_raw_ns().saturating_sub(begin) < hybrid::FREEING_TIMEOUT_NS
            {
                calls::sleep_ns(hybrid::FREEING_PAUSE_NS);
                usage = backend.memory().map_err(&counters)?.unwrap_or(usage);
            }
            let left = left_of(usage);
            if left > max_leftover {
                let _ = calls::kill(copy.pid1, libc::SIGKILL);
                // The zygote prepares another template.
                shared.launched.store(u64::MAX, Relaxed);
                shared.reported.store(1, Relaxed);
                return Ok(false);
            }
            backend.reset_for_copy(shared, left).map_err(&counters)?;
            self.peak_tasks = backend.peak_tasks().map_err(&counters)?;
        }
        shared.template.set(self.figures);
        shared.prepared.store(1, Release);
        Ok(true)
    }

    /// Reaps ended children. Returns the wait status of the template if it has ended.
    fn has_ended(&self) -> Option<i32> {
        let mut ended = None;
        while let Ok(child) = process::wait(-1, libc::__WALL | libc::WNOHANG) {
            match child.pid {
                0 => break,
                pid if pid == self.template => ended = Some(child.status),
                _ => {}
            }
        }
        ended
    }

    /// The failure of a template whose socket is closed or unusable.
    fn ended_or(&self, otherwise: Unfit) -> Failure {
        // The socket is closed a moment before the process can be reaped.
        for _ in 0..1000 {
            if let Some(status) = self.has_ended() {
                let start = self.runner.shared.failure.get();
                if Step::from_number(start.step) == Step::Exec {
                    // The run has a program of its own, so the step would name that program.
                    return failure(TemplateProblem::NotExecuted { errno: start.errno });
                }
                if start.step != 0 {
                    return start;
                }
                let mut end = End::default();
                let start = Start::default();
                let _ = match &self.runner.backend {
                    Backend::Cgroup2(runner) => runner.measure(&start, &mut end),
                    Backend::Hybrid(runner) => {
                        runner.measure(&self.runner.shared.applied_limits, &start, &mut end)
                    }
                    Backend::Rlimit => Ok(()),
                };
                return failure(match end.oom_kills {
                    0 => TemplateProblem::Ended(process::end_of(status)),
                    _ => TemplateProblem::OutOfMemory,
                });
            }
            calls::sleep_ns(100_000);
        }
        unfit_failure(otherwise)
    }

    /// Receives a message of this kind. Returns the process id of its sender.
    fn expect(&self, kind: u8, deadline: u64) -> Result<i32, Failure> {
        let mut bytes = [0; 64];
        let received = self.receive(&mut bytes, deadline)?;
        match bytes.get(..received.length) {
            Some([first]) if *first == kind && received.from > 0 => Ok(received.from),
            Some([message::FAILED, body @ ..]) => Err(failed(body)),
            _ => Err(unfit_failure(Unfit::Protocol)),
        }
    }

    fn receive(&self, buffer: &mut [u8], deadline: u64) -> Result<From, Failure> {
        loop {
            let now = calls::monotonic_raw_ns();
            if now >= deadline {
                return Err(failure(TemplateProblem::NotReady));
            }
            let left = deadline - now;
            if !calls::wait_readable([self.control, -1], Some(left))[0] {
                continue;
            }
            match calls::receive_from(self.control, buffer, libc::MSG_DONTWAIT) {
                Ok((0, _)) => return Err(self.ended_or(Unfit::Protocol)),
                Ok((length, from)) => return Ok(From { length, from }),
                Err(Errno(libc::EAGAIN | libc::EINTR)) => {}
                Err(_) => return Err(self.ended_or(Unfit::Protocol)),
            }
        }
    }
}

/// A received message.
struct From {
    length: usize,
    /// The process id of its sender.
    from: i32,
}

fn failed(body: &[u8]) -> Failure {
    let failed = Failed::read_from_bytes(body).unwrap_or_default();
    Failure {
        object: failed.object,
        ..Failure::new(Step::from_number(failed.step), Errno(failed.errno))
    }
}

fn c_str(bytes: &[u8]) -> &CStr {
    CStr::from_bytes_with_nul(bytes).unwrap_or(c"")
}

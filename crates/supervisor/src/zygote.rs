//! The zygote: the process that clones the runs of a runner in one world, one after the other.
//!
//! A child inherits its parent's seccomp program, and attaching one takes the kernel longer than
//! most other work for a short run. So the zygote attaches the world's program once, and all
//! targets inherit it. Zygote, pid1 and target must make some calls that this program may refuse.
//! For these calls they pass a secret in an argument that the kernel ignores
//! ([`millibox_seccomp::with_pass`]); docs/security/shared-memory.md explains the reasoning. If the
//! runner receives another world, the zygote ends, and the next zygote begins without a program.
//!
//! After the zygote has attached the program, it repeats these steps: create a clean environment,
//! clone pid1 there, wait for its end, clean up.
//!
//! The zygote has the rights of its runner, because it shares the runner's memory and descriptors.
//! It must not allocate, lock or call libc, because the program may refuse the calls of libc; see
//! [`crate::sys`].

use crate::launch::{End, Failure, Report, message};
use crate::own_network::OwnNetwork;
use crate::pid1;
use crate::prepared::{NetworkDescriptors, Order, Prepared, Program, Runner, send_report};
use crate::program;
use crate::sockets;
use crate::sys::calls;
use crate::sys::process::{self, Clone};
use core::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use millibox_wire::Network;
use millibox_wire::Step;

/// The calls of zygote, pid1 and target, except for the target's exec, which the seccomp program
/// must allow. None of them has a sixth argument.
pub const SANDBOX_CALLS: [u32; 50] = [
    libc::SYS_capset as u32,
    libc::SYS_chdir as u32,
    libc::SYS_clock_gettime as u32,
    libc::SYS_clone3 as u32,
    libc::SYS_close as u32,
    libc::SYS_close_range as u32,
    libc::SYS_dup3 as u32,
    libc::SYS_exit_group as u32,
    libc::SYS_faccessat as u32,
    libc::SYS_fchdir as u32,
    libc::SYS_fchmodat as u32,
    libc::SYS_fstat as u32,
    libc::SYS_getpid as u32,
    libc::SYS_getpriority as u32,
    libc::SYS_getrlimit as u32,
    libc::SYS_getrusage as u32,
    libc::SYS_ioctl as u32,
    libc::SYS_kill as u32,
    libc::SYS_mkdirat as u32,
    libc::SYS_mount as u32,
    libc::SYS_move_mount as u32,
    libc::SYS_nanosleep as u32,
    libc::SYS_open_tree as u32,
    libc::SYS_openat as u32,
    libc::SYS_pidfd_open as u32,
    libc::SYS_ppoll as u32,
    libc::SYS_prctl as u32,
    libc::SYS_pread64 as u32,
    libc::SYS_prlimit64 as u32,
    libc::SYS_readlinkat as u32,
    libc::SYS_recvmsg as u32,
    // The kernel uses this call to resume a call with a timeout after SIGSTOP and SIGCONT.
    libc::SYS_restart_syscall as u32,
    libc::SYS_sched_setaffinity as u32,
    libc::SYS_sched_setattr as u32,
    libc::SYS_seccomp as u32,
    libc::SYS_sendmsg as u32,
    libc::SYS_setns as u32,
    libc::SYS_setpriority as u32,
    libc::SYS_setrlimit as u32,
    libc::SYS_setsid as u32,
    libc::SYS_setsockopt as u32,
    libc::SYS_socket as u32,
    libc::SYS_socketpair as u32,
    libc::SYS_symlinkat as u32,
    libc::SYS_umask as u32,
    libc::SYS_unlinkat as u32,
    libc::SYS_unshare as u32,
    libc::SYS_wait4 as u32,
    libc::SYS_waitid as u32,
    libc::SYS_write as u32,
];

/// The arguments of a zygote.
pub struct Zygote<'a> {
    pub runner: &'a Runner,
    pub order: &'a Order,
    /// The seccomp program that all runs inherit.
    pub shared_program: Option<&'a [u8]>,
    /// The encoded setup of the template of a prepared program; empty if the world has none.
    pub setup: &'a [u8],
}

/// The main function of a zygote. The exit status 0 means that the runner is in its initial state
/// again.
pub fn main(zygote: &Zygote) -> ! {
    if let Err(failure) = zygote.serve() {
        send_report(
            zygote.runner.socket,
            message::UNPREPARED,
            &Report {
                failure,
                ..Report::default()
            },
        );
    }
    calls::exit(0)
}

impl Zygote<'_> {
    fn serve(&self) -> Result<(), Failure> {
        let failed = |errno| Failure::new(Step::Zygote, errno);
        let runner = self.runner;
        // The zygote must die with its runner.
        calls::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as usize, 0, 0, 0).map_err(failed)?;
        if calls::is_readable(runner.own_pidfd) {
            calls::exit(1);
        }
        let _ = calls::prctl(
            libc::PR_SET_NAME,
            c"millibox-zygote".as_ptr() as usize,
            0,
            0,
            0,
        );
        if let Some(unfit) = program::unfit(runner, self.order, self.shared_program.is_some()) {
            return Err(program::failure(unfit));
        }
        let own_pidfd = process::own_pidfd().map_err(failed)?;
        let descriptors = NetworkDescriptors::new();
        let prepared = Prepared {
            runner,
            parent_pidfd: own_pidfd,
            uid: self.order.uid,
            gid: self.order.gid,
            mounts: &self.order.mounts,
            network: self.order.network,
            of_network: &descriptors,
            makes_namespaces: self.order.makes_namespaces,
            seccomp: self
                .order
                .seccomp
                .as_deref()
                .filter(|_| self.shared_program.is_none()),
            program: self.order.program.as_ref().map(|order| Program {
                order,
                setup: self.setup,
                control: -1,
            }),
        };
        sockets::enter_namespace(runner).map_err(|errno| Failure::new(Step::Network, errno))?;
        runner.backend.enter_own_cgroup_namespace()?;
        let mut network = OwnNetwork::new(runner, &descriptors);
        if self.network() == Network::Loopback {
            network.watch();
        }
        let attached = match self.shared_program {
            Some(program) => {
                calls::attach_seccomp(program).map_err(|errno| Failure::new(Step::Seccomp, errno))
            }
            None => Ok(()),
        };
        while attached.is_ok()
            && runner.shared.stay_idle.load(SeqCst) == 0
            && self.run(&prepared, &mut network)
        {}
        // Close the descriptors, because the descriptor table is shared with the runner.
        let _ = calls::close(own_pidfd);
        let ended = network.end();
        attached.and(ended.map_err(|errno| Failure::new(Step::Network, errno)))
    }

    /// The network of runs that are clones of the zygote's pid1s. The copies of a template have
    /// network namespaces of their own.
    fn network(&self) -> Network {
        match self.order.program {
            Some(_) => Network::None,
            None => self.order.network,
        }
    }

    /// Prepares and serves one pid1. Returns whether to prepare the same world again.
    fn run(&self, prepared: &Prepared, network: &mut OwnNetwork) -> bool {
        let runner = self.runner;
        let shared = runner.shared;
        shared.prepared.store(0, Relaxed);
        shared.target.store(0, Relaxed);
        shared.launched.store(0, Relaxed);
        shared.reported.store(0, Relaxed);
        shared.start.set(Default::default());
        shared.failure.set(Default::default());
        shared.template.set(Default::default());
        // The runs of a template have pid1s of their own.
        let pid = if prepared.program.is_some() {
            &shared.template_init
        } else {
            &shared.pid1
        };
        let mut limited = false;
        let waited = self.create_environment(network).and_then(|how| {
            if let Some(watched) = runner.backend.watched() {
                // Without these files the supervisor could not enforce the run's limits.
                let count = watched.iter().take_while(|&&fd| fd >= 0).count();
                let there = watched.get(..count).unwrap_or_default();
                calls::send_descriptors(runner.socket, &[message::READY], there)
                    .map_err(|errno| Failure::new(Step::Runner, errno))?;
            }
            let dead = |pid1| {
                shared.pid1.store(0, SeqCst);
                if shared.reported.load(Acquire) == 0 {
                    limited = has_other_limits(pid1);
                }
            };
            let (stack, main) = (&runner.pid1_stack, pid1::main);
            let answer = |pid1| network.wait(pid1);
            process::run_child_beside(how, stack, main, prepared, pid, answer, dead)
                .map_err(|errno| Failure::new(Step::Clone, errno))
        });
        let waited = match waited {
            Ok(waited) => waited,
            Err(failure) => {
                self.clean(network);
                send_report(
                    runner.socket,
                    message::UNPREPARED,
                    &Report {
                        failure,
                        ..Report::default()
                    },
                );
                return false;
            }
        };
        let launch = shared.launched.load(Acquire);
        if shared.reported.load(Acquire) == 0 {
            let start = shared.start.get();
            let mut end = End {
                pid1_died: 1,
                launch,
                status: -1,
                pid1_status: waited.status,
                pid1_limited: u32::from(limited),
                end_ns: calls::monotonic_raw_ns(),
                ..End::default()
            };
            runner.backend.measure(shared, &start, Ok(waited), &mut end);
            send_report(
                runner.socket,
                message::ENDED,
                &Report {
                    template: shared.template.get(),
                    start,
                    failure: shared.failure.get(),
                    end,
                },
            );
        }
        self.clean(network);
        launch != 0
    }

    /// Removes everything that the run left. If that fails, the zygote and its runner end, and the
    /// supervisor starts another runner.
    fn clean(&self, network: &mut OwnNetwork) {
        let runner = self.runner;
        if network.clear().is_err() || runner.backend.clean(runner.shared).is_err() {
            calls::exit(1);
        }
    }

    /// Creates the environment that must exist before pid1 is cloned.
    fn create_environment(&self, network: &mut OwnNetwork) -> Result<Clone, Failure> {
        let runner = self.runner;
        let had_network = network.has_left_one();
        if self.network() == Network::Loopback {
            network
                .enter()
                .map_err(|errno| Failure::new(Step::Network, errno))?;
        }
        let namespaces =
            libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC;
        let memory = if runner.share_memory {
            libc::CLONE_VM
        } else {
            0
        };
        let mut how = Clone {
            flags: (namespaces | memory) as u64,
            into_cgroup: None,
        };
        runner
            .backend
            .prepare(runner.shared, (runner.socket, had_network), &mut how)?;
        // pid1 must be able to write its id maps. The target makes the memory undumpable again
        // before any code of the program runs.
        let dumpable = calls::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
        dumpable.map_err(|errno| Failure::new(Step::Runner, errno))?;
        Ok(how)
    }
}

/// Whether a run changed the CPU-time limit of its pid1, which is dead. The kernel may have killed
/// pid1 because of this limit.
pub fn has_other_limits(pid1: i32) -> bool {
    match (
        calls::get_rlimit_of(pid1, libc::RLIMIT_CPU),
        calls::get_rlimit(libc::RLIMIT_CPU),
    ) {
        (Ok(its), Ok(ours)) => its != ours,
        _ => false,
    }
}

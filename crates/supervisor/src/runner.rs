//! A runner: the process that serves runs one after the other, and its place in a slot.
//!
//! A slot has several runners and alternates between them: while one serves a run, another is
//! cleaned up and prepares its next pid1. The runner is a separate process for three reasons. With
//! version 1 cgroups, a run starts in the cgroup of its parent. Several slots can clone processes
//! in parallel. pid1 may share its parent's memory, and that memory must not be the supervisor's.
//!
//! A runner waits for a world, enters the world's template and starts a [`crate::zygote`]. The
//! zygote clones one run after the other there. The runner waits for the end of the zygote.
//!
//! A runner may use its own cgroups, the mount namespaces (templates) that it receives, and its
//! network namespace. It has the capabilities for that in the supervisor's user namespace only, so
//! they have no effect outside.

use crate::backend::Backend;
use crate::cpus::mask_of;
use crate::launch::{Failure, Report, Shared, message};
use crate::prepared::{Order, Runner, send_report};
use crate::program;
use crate::ready_protocol::{Setup, TEMPLATE_PASS};
use crate::rlimits::{DEFAULT_RLIMITS, TARGET_RLIMITS, at_rlimit};
use crate::sys::memory::{Pointers, Stack};
use crate::sys::process::{self, Clone};
use crate::sys::{self, Errno, calls};
use crate::zygote::{self, Zygote};
use core::sync::atomic::Ordering::Relaxed;
use millibox_seccomp::{Arch, Program};
use millibox_wire::{Network, Step};

/// The size of the stacks of zygote, pid1 and target before its exec. Each uses a few hundred
/// bytes, or a few thousand in an unoptimised build.
const STACK_BYTES: usize = 64 * 1024;

/// The arguments that the supervisor passes to a new runner.
pub struct RunnerSetup {
    pub shared: &'static Shared,
    pub backend: Backend,
    pub socket: i32,
    pub launches: i32,
    pub procfs: i32,
    pub uid: u32,
    pub gid: u32,
    pub share_memory: bool,
    /// Whether this runner replaces a runner that died.
    pub again: bool,
    /// The runner's CPU; `None` for all CPUs.
    pub cpu: Option<usize>,
    /// Whether the runner's runs begin on another CPU; see [`crate::cpus`].
    pub runs_elsewhere: bool,
    /// Whether the runner must not run on other CPUs.
    pub pinned: bool,
    /// The number of runs that all runners can serve at the same time.
    pub runs_at_once: u64,
}

/// The OOM score adjustment of a run, which is therefore killed first if its cgroup or the host
/// runs out of memory. Runner and pid1 have the same value, because the value belongs to their
/// shared memory. Both use little memory.
const OOM_SCORE_ADJ: &[u8] = b"1000";

/// The exit status of a runner whose zygote was killed or could not clean up.
pub const ZYGOTE_LOST: i32 = 2;

/// The main function of a runner, in the forked child. The caller has closed other descriptors.
pub fn main(mut setup: RunnerSetup) -> ! {
    // pid1 and target inherit the value. The supervisor is not dumpable, so the file belongs to
    // root.
    let _ = calls::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
    let scored = calls::write_file(setup.procfs, c"self/oom_score_adj", OOM_SCORE_ADJ);
    let _ = calls::prctl(
        libc::PR_SET_NAME,
        c"millibox-runner".as_ptr() as usize,
        0,
        0,
        0,
    );
    let set_up = scored
        .map_err(|errno| Failure::new(Step::Runner, errno))
        .and_then(|_| set_up(&mut setup));
    let failure = match set_up {
        Ok(runner) => runner.serve(),
        Err(failure) => failure,
    };
    send_report(
        setup.socket,
        message::UNPREPARED,
        &Report {
            failure,
            ..Report::default()
        },
    );
    calls::exit(1)
}

/// Prepares the process and enters the runner's cgroup. The memory is touched before that, because
/// memory that is allocated inside the cgroup counts towards runs.
fn set_up(setup: &mut RunnerSetup) -> Result<Runner, Failure> {
    let memory = |error: std::io::Error| Failure::new(Step::Runner, error.into());
    let failed = |errno| Failure::new(Step::Runner, errno);
    for (resource, soft, hard) in DEFAULT_RLIMITS {
        let (_, most) = calls::get_rlimit(resource).map_err(failed)?;
        let hard = hard.min(most);
        calls::set_rlimits(resource, soft.min(hard), hard).map_err(at_rlimit(resource))?;
    }
    let mut target_rlimits = TARGET_RLIMITS;
    for (resource, soft, hard) in &mut target_rlimits {
        let (_, most) = calls::get_rlimit(*resource).map_err(failed)?;
        calls::set_rlimit(*resource, most).map_err(at_rlimit(*resource))?;
        // The kernel counts descriptors in transit through sockets for each user, that is, for all
        // runs and runners together. It compares the count with the sender's own limit (unix(7),
        // ETOOMANYREFS) before it adds the descriptors of a message, which may be 253. So runs can
        // have slightly more descriptors in transit than open, and their limit is half of the
        // runner's.
        let most = match *resource {
            libc::RLIMIT_NOFILE => most / 2,
            libc::RLIMIT_SIGPENDING => most / setup.runs_at_once.max(1),
            _ => most,
        };
        (*soft, *hard) = ((*soft).min(most), (*hard).min(most));
    }
    let target_stack = Stack::new(STACK_BYTES).map_err(memory)?;
    let pid1_stack = Stack::new(STACK_BYTES).map_err(memory)?;
    let zygote_stack = Stack::new(STACK_BYTES).map_err(memory)?;
    let pointers = Pointers::new(crate::launch::MAX_STRINGS + 64).map_err(memory)?;
    // If these CPUs are no longer allowed (cpuset(7)), or the process may not choose its CPU, any
    // CPU will do, unless the caller named the CPUs.
    if let Some(cpu) = setup.cpu
        && let Err(errno) = calls::set_affinity(&mask_of(&[cpu]))
        && setup.pinned
    {
        return Err(Failure::new(Step::Affinity, errno));
    }
    let _ = calls::set_slice(calls::nice(), crate::target::RUNNER_SLICE_NS);
    calls::unshare(libc::CLONE_NEWNET).map_err(|errno| Failure::new(Step::Network, errno))?;
    crate::sockets::limit_options(setup.procfs);
    crate::sockets::limit_backlogs(setup.procfs);
    let network = calls::openat(setup.procfs, c"self/ns/net", libc::O_RDONLY, 0).map_err(failed)?;
    let sockstat =
        calls::openat(setup.procfs, c"self/net/sockstat", libc::O_RDONLY, 0).map_err(failed)?;
    let null = crate::null::find().map_err(failed)?;
    let own_pidfd = process::own_pidfd().map_err(failed)?;
    setup.backend.join(setup.again, setup.socket)?;
    setup.backend.set_up()?;
    if !setup.backend.needs_cgroup_namespace() {
        calls::unshare(libc::CLONE_NEWCGROUP)
            .map_err(|errno| Failure::new(Step::CgroupNamespace, errno))?;
    }
    setup.socket = calls::move_down(setup.socket).map_err(failed)?;
    setup.launches = calls::move_down(setup.launches).map_err(failed)?;
    // A pid1 with its own memory is the stricter variant, and relies on no secret.
    let pass = if setup.share_memory {
        Some(random_secret().map_err(failed)?)
    } else {
        None
    };
    if let Some(pass) = pass {
        sys::set_pass(pass);
    }
    Ok(Runner {
        shared: setup.shared,
        backend: std::mem::replace(&mut setup.backend, Backend::Rlimit),
        socket: setup.socket,
        launches: setup.launches,
        procfs: setup.procfs,
        network,
        sockstat,
        null,
        own_pidfd,
        cpu_mask: setup
            .cpu
            .filter(|_| setup.runs_elsewhere)
            .map_or(Vec::new(), |cpu| mask_of(&[cpu])),
        uid: setup.uid,
        gid: setup.gid,
        runs_nice: calls::nice().max(0),
        target_rlimits,
        target_stack,
        pointers,
        pid1_stack,
        zygote_stack,
        share_memory: setup.share_memory,
        pass,
    })
}

/// Returns a random secret of 64 bits (getrandom(2)), which is never 0.
fn random_secret() -> Result<u64, Errno> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes) | 1)
}

impl Runner {
    /// Serves worlds until the supervisor ends.
    fn serve(&self) -> Failure {
        loop {
            // Without this message the supervisor would never use the runner again.
            while calls::send(self.socket, &[message::IDLE]).is_err_and(Errno::passes) {
                calls::sleep_ns(1_000_000);
            }
            let mut buffer = vec![0; millibox_wire::frame::MAX_INLINE];
            let received = self.next_order(&mut buffer);
            let template = received.descriptors[0];
            let order = match buffer.get(..received.length) {
                Some([message::PREPARE, body @ ..]) => millibox_wire::decode::<Order>(body).ok(),
                _ => None,
            };
            let Some(order) = order else {
                return Failure::new(Step::World, Errno(libc::EPROTO));
            };
            drop(buffer);
            let entered = calls::setns(template, libc::CLONE_NEWNS);
            let _ = calls::close(template);
            if let Err(errno) = entered {
                let failure = Failure::new(Step::Template, errno);
                send_report(
                    self.socket,
                    message::UNPREPARED,
                    &Report {
                        failure,
                        ..Report::default()
                    },
                );
                continue;
            }
            self.shared.stay_idle.store(0, Relaxed);
            if let Err(failure) = self.serve_world(&order) {
                return failure;
            }
        }
    }

    /// Serves runs in one world, until the supervisor orders another world or no pid1 can be
    /// prepared.
    fn serve_world(&self, order: &Order) -> Result<(), Failure> {
        let failed = |errno| Failure::new(Step::Zygote, errno);
        let shared_program = self
            .pass
            .zip(order.seccomp.as_deref())
            .and_then(|(pass, program)| {
                let mut program = Program::from_bytes(program).ok()?;
                if order.program.is_some() {
                    program = millibox_seccomp::with_pass(
                        &program,
                        Arch::native(),
                        &program::TEMPLATE_CALLS,
                        TEMPLATE_PASS,
                    )
                    .ok()?;
                }
                // If the program is too long for the addition, each target attaches it itself.
                millibox_seccomp::with_pass(&program, Arch::native(), &zygote::SANDBOX_CALLS, pass)
                    .ok()
            });
        let shared_program = shared_program.map(|program| program.as_bytes());
        let setup = order.program.as_ref().map_or(Vec::new(), |_| {
            millibox_wire::encode(&Setup {
                mounts: order.mounts.clone(),
                seccomp: order.seccomp.clone(),
                has_own_network: order.network == Network::Loopback,
            })
        });
        let zygote = Zygote {
            setup: &setup,
            runner: self,
            order,
            shared_program: shared_program.as_deref(),
        };
        // Runner and zygote share a descriptor table, because the zygote may renew descriptors.
        let how = Clone {
            flags: (libc::CLONE_VM | libc::CLONE_FILES) as u64,
            into_cgroup: None,
        };
        let zygote = process::run_child(
            how,
            &self.zygote_stack,
            zygote::main,
            &zygote,
            &self.shared.zygote,
            |_| {},
        );
        match zygote.map_err(failed)?.status {
            0 => Ok(()),
            // The state of the cgroup and the namespaces is unknown, so the supervisor starts a new
            // runner.
            _ => calls::exit(ZYGOTE_LOST),
        }
    }

    /// Waits for the supervisor's next message.
    fn next_order(&self, buffer: &mut [u8]) -> calls::Received {
        match calls::receive(self.socket, buffer, 0) {
            Ok(received) if received.length > 0 => received,
            // The supervisor has ended.
            _ => calls::exit(0),
        }
    }
}

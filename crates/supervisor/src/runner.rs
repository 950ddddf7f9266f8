//! A runner: one of a slot's places for runs, and the small process that lives there.
//!
//! A slot has several runners, used in turn: while a run goes on in one, another is cleaned
//! and its next pid1 prepared. The process is needed because on version 1 cgroups a run
//! is born where its parent is; because cloning for several slots then goes on in
//! parallel; and because pid1 may share its memory, which then is not the supervisor's.
//!
//! Its life: wait for a world; enter the world's template; start a [`crate::zygote`], which
//! makes one run after the other there, and wait for its end.
//!
//! It may touch: its own cgroups, the mount namespaces (templates) that it is given, its
//! network namespace. It holds the capabilities for that in the supervisor's user
//! namespace, where they reach nothing else.

use crate::backend::Backend;
use crate::cpus::mask_of;
use crate::launch::{Failure, Report, Shared, message};
use crate::sys::memory::{Pointers, Stack};
use crate::sys::process::{self, Clone};
use crate::sys::{self, Errno, calls};
use crate::zygote::{self, Zygote};
use core::sync::atomic::Ordering::Relaxed;
use millibox_seccomp::{Arch, Program};
use millibox_wire::Network;
use millibox_wire::Step;
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use zerocopy::IntoBytes;

/// Stack of zygote, of pid1 and of the target before its exec: each uses a few hundred bytes, an
/// unoptimised build a few thousand.
const STACK: usize = 64 * 1024;

const INFINITY: u64 = libc::RLIM_INFINITY;

/// Resource limits of a run that asks for none: resource, soft, hard. Those of a login on a common
/// distribution, but no core dumps (0 would still start a handler that kernel.core_pattern pipes
/// to, on the host and at its cost; 1 is the value by which the kernel does not: core(5),
/// do_coredump() in fs/coredump.c), and nothing of what our caller was limited to unless its hard
/// limit is lower and we may not raise it. RLIMIT_NPROC is the host's business (by memory size) and
/// stays; those of [`TARGET_RLIMITS`] are the target's to set.
pub const DEFAULT_RLIMITS: [(u32, u64, u64); 11] = [
    (libc::RLIMIT_CPU, INFINITY, INFINITY),
    (libc::RLIMIT_FSIZE, INFINITY, INFINITY),
    (libc::RLIMIT_DATA, INFINITY, INFINITY),
    (libc::RLIMIT_STACK, 8 << 20, INFINITY),
    (libc::RLIMIT_CORE, 1, 1),
    (libc::RLIMIT_RSS, INFINITY, INFINITY),
    (libc::RLIMIT_AS, INFINITY, INFINITY),
    (libc::RLIMIT_LOCKS, INFINITY, INFINITY),
    (libc::RLIMIT_NICE, 0, 0),
    (libc::RLIMIT_RTPRIO, 0, 0),
    (libc::RLIMIT_RTTIME, INFINITY, INFINITY),
];

/// The same for limits that hold the run, and must not hold its runner.
///
/// Of open files the runner needs more. The others the kernel counts for the user in each user
/// namespace, and for all namespaces below together against what whoever made one below was limited
/// to (inc_rlimit_ucounts() in kernel/ucount.c): what a runner is limited to, all runs have
/// together. So runners have as much as can be had, or one run could use up the timers, queued
/// signals, message queues and locked shared memory of all others. Where there is a bound for all,
/// as for whoever cannot raise it, no run may have more timers and queued signals than its share.
/// Of queues and locked memory hosts allow so little that a share of it would be of no use.
pub const TARGET_RLIMITS: [(u32, u64, u64); 4] = [
    // First, and what a request can have at most.
    (libc::RLIMIT_NOFILE, 1024, 4096),
    (libc::RLIMIT_SIGPENDING, 4096, 4096),
    (libc::RLIMIT_MSGQUEUE, 819_200, 819_200),
    (libc::RLIMIT_MEMLOCK, 8 << 20, 8 << 20),
];

/// The limit on open files of each process in a run that names none.
///
/// The kernel charges no cgroup for much of what a descriptor makes it keep: up to 17 KiB for a
/// half-read directory of ext4 (`ext4_htree_store_dirent()`), 64 bytes a thread in poll(2). If the
/// request names both a memory limit and a process limit, the descriptors of all processes together
/// keep at most as much as the memory limit. The result is clamped: programs and language runtimes
/// need [`MIN_NOFILE`], and no run gets more than [`MAX_NOFILE`] by default.
pub fn default_nofile(memory_bytes: Option<u64>, processes: Option<u32>) -> u32 {
    let (Some(memory_bytes), Some(processes @ 1..)) = (memory_bytes, processes) else {
        return MAX_NOFILE;
    };
    let files = memory_bytes / UNCHARGED_BYTES_PER_DESCRIPTOR / u64::from(processes);
    u32::try_from(files)
        .unwrap_or(u32::MAX)
        .clamp(MIN_NOFILE, MAX_NOFILE)
}

const UNCHARGED_BYTES_PER_DESCRIPTOR: u64 = 17 << 10;
const MIN_NOFILE: u32 = 64;
const MAX_NOFILE: u32 = 1024;

/// What a runner is told to prepare.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    pub uid: u32,
    pub gid: u32,
    pub network: Network,
    /// Mounts of each run's own, with their number among the world's mounts.
    pub mounts: Vec<(u32, RunMount)>,
    pub seccomp: Option<Vec<u8>>,
    /// Runs can make namespaces: how many is limited.
    pub makes_namespaces: bool,
}

/// A mount operation that pid1 carries out for each run.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub enum RunMount {
    Tmpfs {
        path: CString,
        options: CString,
        no_exec: bool,
    },
    Proc {
        path: CString,
        options: CString,
    },
    /// Keeps hold of the template's staging directory, which has this device number, and which the
    /// next tmpfs will cover.
    OpenStage {
        path: CString,
        device: u64,
    },
    /// Mounts what the template holds ready under `name` in the staging directory.
    FromStage {
        name: CString,
        path: CString,
    },
    CreateDir {
        path: CString,
        mode: u32,
        may_exist: bool,
    },
    CreateFile {
        path: CString,
        mode: u32,
        may_exist: bool,
    },
    Symlink {
        target: CString,
        path: CString,
    },
}

/// What a runner is, for itself, its pid1s and targets. Descriptors are numbers, since
/// pid1 and target have descriptor tables of their own.
pub struct Runner {
    pub shared: &'static Shared,
    pub backend: Backend,
    /// This runner's end of the socket to the supervisor; pid1 and target have it as well.
    pub socket: i32,
    /// Where the target receives its launch. The supervisor holds the same end, to take back a
    /// launch that no target has received.
    pub launches: i32,
    /// The host's /proc (`O_PATH`).
    pub procfs: i32,
    /// The network namespace of runs without network.
    pub network: i32,
    /// /proc/net/sockstat there.
    pub sockstat: i32,
    /// Readable once this process is dead.
    pub own_pidfd: i32,
    /// Ids outside.
    pub uid: u32,
    pub gid: u32,
    /// Where this process is held, as an affinity mask, if its runs begin elsewhere, and pid1 is to
    /// come back at their end.
    pub held_on: Vec<u64>,
    /// Nice value of the runs: 0, or a greater one that we may not lower.
    pub runs_nice: i32,
    /// [`TARGET_RLIMITS`], as far as they can be had.
    pub target_rlimits: [(u32, u64, u64); TARGET_RLIMITS.len()],
    pub target_stack: Stack,
    pub pointers: Pointers,
    pub pid1_stack: Stack,
    zygote_stack: Stack,
    /// pid1 shares our memory (else it has a copy).
    pub share_memory: bool,
    /// What our calls carry so that a seccomp program attached to the zygote lets them pass;
    /// `None`: every target attaches its program itself.
    pass: Option<u64>,
}

/// What the supervisor gives a new runner.
pub struct Birth {
    pub shared: &'static Shared,
    pub backend: Backend,
    pub socket: i32,
    pub launches: i32,
    pub procfs: i32,
    pub uid: u32,
    pub gid: u32,
    pub share_memory: bool,
    /// It takes the place of one that died.
    pub again: bool,
    /// Where it is held; `None`: nowhere.
    pub cpu: Option<usize>,
    /// Its runs begin on another CPU, see [`crate::cpus`].
    pub runs_elsewhere: bool,
    /// It is of no use anywhere else.
    pub pinned: bool,
    /// How many runs there can be at the same time, in all runners.
    pub runs_at_once: u64,
}

/// A run goes first when memory is short, in its cgroup or on the whole host. Runner and pid1
/// have the same value, as it belongs to shared memory; they are small.
const OOM_SCORE_ADJ: &[u8] = b"1000";

/// Exit code of a runner whose zygote has been killed or could not clean up.
pub const ZYGOTE_LOST: i32 = 2;

/// A runner's whole life, in the forked child. The caller has closed what is not ours.
pub fn main(mut birth: Birth) -> ! {
    // Inherited by pid1 and target. The supervisor is not dumpable, so the file would be root's.
    let _ = calls::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
    let scored = calls::write_file(birth.procfs, c"self/oom_score_adj", OOM_SCORE_ADJ);
    let _ = calls::prctl(
        libc::PR_SET_NAME,
        c"millibox-runner".as_ptr() as usize,
        0,
        0,
        0,
    );
    let settled = scored
        .map_err(|errno| Failure::new(Step::Runner, errno))
        .and_then(|_| settle(&mut birth));
    let failure = match settled {
        Ok(runner) => runner.live(),
        Err(failure) => failure,
    };
    tell(
        birth.socket,
        message::UNPREPARED,
        &Report {
            failure,
            ..Report::default()
        },
    );
    calls::exit(1)
}

/// Moves in. Memory is touched first: what is taken inside the cgroup is the runs'.
fn settle(birth: &mut Birth) -> Result<Runner, Failure> {
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
        // The kernel counts descriptors on their way through sockets for the user, that is for all
        // runs and for us, and compares them with the sender's own limit (unix(7), ETOOMANYREFS).
        // It looks before it counts a message's 253, so runs can have a little more on their way
        // than they may have open: hence the half.
        let most = match *resource {
            libc::RLIMIT_NOFILE => most / 2,
            libc::RLIMIT_SIGPENDING => most / birth.runs_at_once.max(1),
            _ => most,
        };
        (*soft, *hard) = ((*soft).min(most), (*hard).min(most));
    }
    let target_stack = Stack::new(STACK).map_err(memory)?;
    let pid1_stack = Stack::new(STACK).map_err(memory)?;
    let zygote_stack = Stack::new(STACK).map_err(memory)?;
    let pointers = Pointers::new(crate::launch::MAX_STRINGS + 64).map_err(memory)?;
    // If we may not use it any more (cpuset(7)), or may not choose, anywhere will do, unless it was
    // asked for.
    if let Some(cpu) = birth.cpu
        && let Err(errno) = calls::set_affinity(&mask_of(&[cpu]))
        && birth.pinned
    {
        return Err(Failure::new(Step::Affinity, errno));
    }
    let _ = calls::set_slice(calls::nice(), crate::target::RUNNERS_SLICE_NS);
    calls::unshare(libc::CLONE_NEWNET).map_err(|errno| Failure::new(Step::Network, errno))?;
    crate::sockets::limit_options(birth.procfs);
    crate::sockets::limit_backlogs(birth.procfs);
    let network = calls::openat(birth.procfs, c"self/ns/net", libc::O_RDONLY, 0).map_err(failed)?;
    let sockstat =
        calls::openat(birth.procfs, c"self/net/sockstat", libc::O_RDONLY, 0).map_err(failed)?;
    let own_pidfd = process::own_pidfd().map_err(failed)?;
    birth.backend.join(birth.again, birth.socket)?;
    birth.backend.settle()?;
    if !birth.backend.needs_cgroup_namespace() {
        calls::unshare(libc::CLONE_NEWCGROUP)
            .map_err(|errno| Failure::new(Step::CgroupNamespace, errno))?;
    }
    birth.socket = calls::move_down(birth.socket).map_err(failed)?;
    birth.launches = calls::move_down(birth.launches).map_err(failed)?;
    // A pid1 with memory of its own is the stricter variant, which trusts no secret.
    let pass = if birth.share_memory {
        Some(secret().map_err(failed)?)
    } else {
        None
    };
    if let Some(pass) = pass {
        sys::set_pass(pass);
    }
    Ok(Runner {
        shared: birth.shared,
        backend: std::mem::replace(&mut birth.backend, Backend::Rlimit),
        socket: birth.socket,
        launches: birth.launches,
        procfs: birth.procfs,
        network,
        sockstat,
        own_pidfd,
        held_on: birth
            .cpu
            .filter(|_| birth.runs_elsewhere)
            .map_or(Vec::new(), |cpu| mask_of(&[cpu])),
        uid: birth.uid,
        gid: birth.gid,
        runs_nice: calls::nice().max(0),
        target_rlimits,
        target_stack,
        pointers,
        pid1_stack,
        zygote_stack,
        share_memory: birth.share_memory,
        pass,
    })
}

/// A failure to set this resource limit.
pub fn at_rlimit(resource: u32) -> impl Fn(Errno) -> Failure {
    move |errno| Failure {
        object: resource,
        ..Failure::new(Step::Rlimit, errno)
    }
}

/// 64 bits that nobody can guess (getrandom(2)), and not 0.
fn secret() -> Result<u64, Errno> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes) | 1)
}

/// Sends a report to the supervisor, without allocation; whether it was sent.
pub fn tell(socket: i32, tag: u8, report: &Report) -> bool {
    let mut bytes = [tag; 1 + size_of::<Report>()];
    if let Some(body) = bytes.get_mut(1..) {
        body.copy_from_slice(report.as_bytes());
    }
    calls::send(socket, &bytes).is_ok()
}

impl Runner {
    /// Ends only with the supervisor.
    fn live(&self) -> Failure {
        loop {
            // Without this word the supervisor would never use us again.
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
                tell(
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
            if let Err(failure) = self.live_in(&order) {
                return failure;
            }
        }
    }

    /// Runs in one world, until the supervisor wants another or none can be prepared.
    fn live_in(&self, order: &Order) -> Result<(), Failure> {
        let failed = |errno| Failure::new(Step::Zygote, errno);
        let shared_program = self
            .pass
            .zip(order.seccomp.as_deref())
            .and_then(|(pass, program)| {
                let program = Program::from_bytes(program).ok()?;
                // Too long for the addition: then each target attaches it itself.
                millibox_seccomp::with_pass(&program, Arch::native(), &zygote::CALLS, pass).ok()
            });
        let shared_program = shared_program.map(|program| program.as_bytes());
        let zygote = Zygote {
            runner: self,
            order,
            shared_program: shared_program.as_deref(),
        };
        // One table of descriptors, as the zygote may renew some that are ours.
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
            // Its place, or what it was about, is in no known state: the supervisor makes a new
            // runner.
            _ => calls::exit(ZYGOTE_LOST),
        }
    }

    /// Waits for the supervisor's next message.
    fn next_order(&self, buffer: &mut [u8]) -> calls::Received {
        match calls::receive(self.socket, buffer, 0) {
            Ok(received) if received.length > 0 => received,
            // The supervisor is gone.
            _ => calls::exit(0),
        }
    }
}

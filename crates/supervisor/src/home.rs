//! A home: one of a slot's two places for runs, and the small process that lives there.
//!
//! A slot has two homes, used in turn: while a run goes on in one, the other is cleaned
//! and its next pid1 prepared. The process is needed because on version 1 cgroups a run
//! is born where its parent is; because cloning for several slots then goes on in
//! parallel; and because pid1 may share its memory, which then is not the supervisor's.
//!
//! Its life: wait for a world; enter the world's template; then, over and over, make a
//! fresh place, clone pid1 there, wait for its end, clean up.
//!
//! It may touch: its own cgroups, the mount namespaces (templates) that it is given, its
//! network namespace. It holds the capabilities for that in the supervisor's user
//! namespace, where they reach nothing else.

use crate::backend::Backend;
use crate::launch::{End, Failure, Report, Shared, message};
use crate::step::Step;
use crate::sys::memory::{Pointers, Stack};
use crate::sys::process::{self, Clone};
use crate::sys::{Errno, calls};
use crate::{pid1, sys};
use core::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use millibox_wire::Network;
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use zerocopy::IntoBytes;

/// Stack of pid1 and of the tracee before its exec: both use a few hundred bytes, an
/// unoptimised build a few thousand.
const STACK: usize = 64 * 1024;

const INFINITY: u64 = libc::RLIM_INFINITY;

/// Resource limits of a run that asks for none: resource, soft, hard. Those of a login on a
/// common distribution, but no core dumps (0 would still start a handler that
/// kernel.core_pattern pipes to, on the host and at its cost; 1 is the value by which the
/// kernel does not: core(5), do_coredump() in fs/coredump.c), and nothing of what our caller was limited to
/// unless its hard limit is lower and we may not raise it. RLIMIT_NPROC and
/// RLIMIT_SIGPENDING are the host's business (by memory size) and stay; RLIMIT_NOFILE is the
/// tracee's to set.
pub const DEFAULT_RLIMITS: [(u32, u64, u64); 13] = [
    (libc::RLIMIT_CPU, INFINITY, INFINITY),
    (libc::RLIMIT_FSIZE, INFINITY, INFINITY),
    (libc::RLIMIT_DATA, INFINITY, INFINITY),
    (libc::RLIMIT_STACK, 8 << 20, INFINITY),
    (libc::RLIMIT_CORE, 1, 1),
    (libc::RLIMIT_RSS, INFINITY, INFINITY),
    (libc::RLIMIT_MEMLOCK, 8 << 20, 8 << 20),
    (libc::RLIMIT_AS, INFINITY, INFINITY),
    (libc::RLIMIT_LOCKS, INFINITY, INFINITY),
    (libc::RLIMIT_MSGQUEUE, 819_200, 819_200),
    (libc::RLIMIT_NICE, 0, 0),
    (libc::RLIMIT_RTPRIO, 0, 0),
    (libc::RLIMIT_RTTIME, INFINITY, INFINITY),
];

/// What a home is told to prepare.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    pub uid: u32,
    pub gid: u32,
    pub network: Network,
    /// Mounts of each run's own, with their number among the world's mounts.
    pub mounts: Vec<(u32, RunMount)>,
    pub seccomp: Option<Vec<u8>>,
    /// The seccomp program allows all that the tracee does between its preparation and
    /// the exec, so it can be attached ahead.
    pub seccomp_early: bool,
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
    /// Keeps hold of the template's staging directory, which the next tmpfs will cover.
    OpenStage {
        path: CString,
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

/// What a home is, for itself, its pid1s and tracees. Descriptors are numbers, since
/// pid1 and tracee have descriptor tables of their own.
pub struct Home {
    pub shared: &'static Shared,
    pub backend: Backend,
    /// This home's end of the socket to the supervisor; pid1 and tracee have it as well.
    pub socket: i32,
    /// The host's /proc (`O_PATH`).
    pub procfs: i32,
    /// The network namespace of runs without network.
    pub network: i32,
    /// Readable once this process is dead.
    pub own_pidfd: i32,
    /// Ids outside.
    pub uid: u32,
    pub gid: u32,
    /// Nice value of the runs: 0, or a greater one that we may not lower.
    pub runs_nice: i32,
    pub tracee_stack: Stack,
    pub pointers: Pointers,
    pid1_stack: Stack,
    /// pid1 shares our memory (else it has a copy).
    share_memory: bool,
}

/// One world, as pid1 and tracee see it.
pub struct Prepared<'a> {
    pub home: &'a Home,
    pub uid: u32,
    pub gid: u32,
    pub mounts: &'a [(u32, RunMount)],
    pub seccomp: Option<&'a [u8]>,
    pub seccomp_early: bool,
}

/// What the supervisor gives a new home.
pub struct Birth {
    pub shared: &'static Shared,
    pub backend: Backend,
    pub socket: i32,
    pub procfs: i32,
    pub uid: u32,
    pub gid: u32,
    pub share_memory: bool,
    /// It takes the place of one that died.
    pub again: bool,
    /// CPUs that this home's runs are held on; empty: all.
    pub cpus: Vec<u64>,
}

/// A run goes first when memory is short, in its cgroup or on the whole host. Home and pid1
/// have the same value, as it belongs to shared memory; they are small.
const OOM_SCORE_ADJ: &[u8] = b"1000";

/// A home's whole life, in the forked child. The caller has closed what is not ours.
pub fn main(birth: Birth) -> ! {
    // Inherited by pid1 and tracee. The supervisor is not dumpable, so the file would be root's.
    let _ = calls::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
    let _ = calls::write_file(birth.procfs, c"self/oom_score_adj", OOM_SCORE_ADJ);
    let _ = calls::prctl(libc::PR_SET_NAME, c"millibox-home".as_ptr() as usize, 0, 0, 0);
    let socket = birth.socket;
    let failure = match settle(birth) {
        Ok(home) => home.live(),
        Err(failure) => failure,
    };
    tell(socket, message::UNPREPARED, &Report { failure, ..Report::default() });
    calls::exit(1)
}

/// Moves in. Memory is touched first: what is taken inside the cgroup is the runs'.
fn settle(birth: Birth) -> Result<Home, Failure> {
    let memory = |error: std::io::Error| Failure::new(Step::Home, error.into());
    let failed = |errno| Failure::new(Step::Home, errno);
    for (resource, soft, hard) in DEFAULT_RLIMITS {
        let (_, most) = calls::get_rlimit(resource).map_err(failed)?;
        let hard = hard.min(most);
        calls::set_rlimits(resource, soft.min(hard), hard)
            .map_err(|errno| Failure { object: resource, ..Failure::new(Step::Rlimit, errno) })?;
    }
    let tracee_stack = Stack::new(STACK).map_err(memory)?;
    let pid1_stack = Stack::new(STACK).map_err(memory)?;
    let pointers = Pointers::new(crate::launch::MAX_STRINGS + 64).map_err(memory)?;
    if !birth.cpus.is_empty() {
        calls::set_affinity(&birth.cpus).map_err(|errno| Failure::new(Step::Affinity, errno))?;
    }
    calls::unshare(libc::CLONE_NEWNET).map_err(|errno| Failure::new(Step::Network, errno))?;
    let network = calls::openat(birth.procfs, c"self/ns/net", libc::O_RDONLY, 0).map_err(failed)?;
    let own_pidfd = process::own_pidfd().map_err(failed)?;
    birth.backend.join(birth.again)?;
    if !birth.backend.needs_cgroup_namespace() {
        calls::unshare(libc::CLONE_NEWCGROUP).map_err(|errno| Failure::new(Step::CgroupNamespace, errno))?;
    }
    Ok(Home {
        shared: birth.shared,
        backend: birth.backend,
        socket: birth.socket,
        procfs: birth.procfs,
        network,
        own_pidfd,
        uid: birth.uid,
        gid: birth.gid,
        runs_nice: calls::nice().max(0),
        tracee_stack,
        pointers,
        pid1_stack,
        share_memory: birth.share_memory,
    })
}

fn tell(socket: i32, tag: u8, report: &Report) {
    let mut bytes = vec![tag];
    bytes.extend_from_slice(report.as_bytes());
    let _ = calls::send(socket, &bytes);
}

impl Home {
    /// Ends only with the supervisor.
    fn live(&self) -> Failure {
        let mut loopback = false;
        loop {
            let _ = calls::send(self.socket, &[message::IDLE]);
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
                tell(self.socket, message::UNPREPARED, &Report { failure, ..Report::default() });
                continue;
            }
            self.shared.stay_idle.store(0, Relaxed);
            while self.shared.stay_idle.load(SeqCst) == 0 && self.run(&order, &mut loopback) {}
        }
    }

    /// The next message that is an order. A launch before it was for a pid1 that did not
    /// live to take it: its run has been told ended, its descriptors go.
    fn next_order(&self, buffer: &mut [u8]) -> calls::Received {
        loop {
            match calls::receive(self.socket, buffer, 0) {
                Ok(received) if received.length > 0 => {
                    if buffer.first() != Some(&message::LAUNCH) {
                        return received;
                    }
                    for fd in received.descriptors.into_iter().filter(|&fd| fd >= 0) {
                        let _ = calls::close(fd);
                    }
                }
                // The supervisor is gone.
                _ => calls::exit(0),
            }
        }
    }

    /// One pid1's life. Whether the same world is to be prepared again.
    fn run(&self, order: &Order, loopback: &mut bool) -> bool {
        let shared = self.shared;
        shared.prepared.store(0, Relaxed);
        shared.launched.store(0, Relaxed);
        shared.reported.store(0, Relaxed);
        shared.start.set(Default::default());
        shared.failure.set(Default::default());
        let prepared = Prepared {
            home: self,
            uid: order.uid,
            gid: order.gid,
            mounts: &order.mounts,
            seccomp: order.seccomp.as_deref(),
            seccomp_early: order.seccomp_early,
        };
        let waited = self.make_place(order, loopback).and_then(|how| {
            if let Some(watched) = self.backend.watched() {
                // Without these the supervisor could not hold the run's limits.
                let there: Vec<i32> = watched.into_iter().filter(|&fd| fd >= 0).collect();
                sys::send_descriptors(self.socket, &[message::READY], &there)
                    .map_err(|errno| Failure::new(Step::Home, errno))?;
            }
            process::run_child(how, &self.pid1_stack, pid1::main, &prepared, &shared.pid1)
                .map_err(|errno| Failure::new(Step::Clone, errno))
        });
        let waited = match waited {
            Ok(waited) => waited,
            Err(failure) => {
                self.clean();
                tell(self.socket, message::UNPREPARED, &Report { failure, ..Report::default() });
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
                end_ns: calls::monotonic_raw_ns(),
                ..End::default()
            };
            self.backend.measure(shared, &start, &waited, &mut end);
            tell(self.socket, message::ENDED, &Report { start, failure: shared.failure.get(), end });
        }
        self.clean();
        launch != 0
    }

    /// Makes our place as if nothing had run there, or ends: the supervisor makes another home.
    fn clean(&self) {
        if self.backend.clean(self.shared).is_err() {
            calls::exit(1);
        }
    }

    /// Everything that must be there before pid1 is cloned.
    fn make_place(&self, order: &Order, loopback: &mut bool) -> Result<Clone, Failure> {
        let at_network = |errno| Failure::new(Step::Network, errno);
        match order.network {
            Network::Loopback => {
                calls::unshare(libc::CLONE_NEWNET).map_err(at_network)?;
                calls::loopback_up().map_err(at_network)?;
                *loopback = true;
            }
            Network::None if *loopback => {
                calls::setns(self.network, libc::CLONE_NEWNET).map_err(at_network)?;
                *loopback = false;
            }
            Network::None => {}
        }
        let namespaces = libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC;
        let memory = if self.share_memory { libc::CLONE_VM } else { 0 };
        let mut how = Clone { flags: (namespaces | memory) as u64, into_cgroup: None };
        self.backend.prepare(self.shared, &mut how)?;
        // pid1 must be able to write its id maps; the tracee makes the memory undumpable again
        // before anything that is not ours runs.
        let dumpable = calls::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
        dumpable.map_err(|errno| Failure::new(Step::Home, errno))?;
        Ok(how)
    }
}

//! pid1: the init process of one run's PID namespace.
//!
//! Process 1 keeps a PID namespace alive. It reaps orphans, and no signal from inside can kill it.
//! When it ends, the kernel kills all processes of the namespace. So a run with its whole process
//! tree is over when pid1 has ended.
//!
//! pid1 creates the part of the world that belongs to one run: ids, a new tmpfs and procfs. It
//! drops all capabilities, clones the target and waits for it. Then it kills the remaining
//! processes, reads the figures and reports.
//!
//! pid1 may use its own namespaces, the shared memory, the cgroup files of its runner and one end
//! of the runner's socket. By default it runs in its runner's memory (`CLONE_VM`) on its own stack,
//! so it must not allocate, lock or call libc. [`crate::sys`] has the rules, and
//! docs/security/shared-memory.md has the reasoning. The target cannot reach pid1: before the exec
//! it becomes non-dumpable, it keeps none of pid1's descriptors, and pid1 reads only its wait
//! status.

use crate::launch::{End, Failure, Report, message};
use crate::null;
use crate::prepared::{Prepared, give_up, send_report};
use crate::program;
use crate::run_mounts;
use crate::sys::ascii::{Decimal, Line, leading_number};
use crate::sys::{Errno, Result, calls, process};
use crate::target;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use millibox_wire::Step;

/// The main function of pid1.
pub fn main(prepared: &Prepared) -> ! {
    if let Err(failure) = prepare(prepared) {
        give_up(prepared, failure);
    }
    if let Some(program) = prepared.program {
        program::main(prepared, program);
    }
    process::spawn_and_replace_caller(
        &prepared.runner.target_stack,
        target::main,
        prepared,
        |target| match target {
            Ok(target) => watch(prepared, target),
            Err(errno) => give_up(prepared, Failure::new(Step::CloneTarget, errno)),
        },
    )
}

/// Drops unneeded rights, waits for the first process, kills the remaining ones, reads the figures
/// and reports.
fn watch(prepared: &Prepared, target: i32) -> ! {
    let runner = prepared.runner;
    let shared = runner.shared;
    // A pid1 in its runner's memory has inherited the world's seccomp program. An additional
    // program would not confine it, because an attacker that controls pid1 also controls the
    // runner.
    if !runner.share_memory
        && let Err(errno) = confine(prepared)
    {
        give_up(prepared, Failure::new(Step::Confinement, errno));
    }
    let mut end = End::default();
    loop {
        match process::wait(-1, libc::__WALL) {
            Ok(child) if child.pid == target => {
                end.end_ns = calls::monotonic_raw_ns();
                end.status = child.status;
                break;
            }
            Ok(_) => {}
            // This cannot happen, because the target is a child of pid1.
            Err(_) => calls::exit(1),
        }
    }
    // The remaining processes of the namespace are descendants of pid1. Usually none are left. In
    // that case skip kill(-1), which walks all processes of the host.
    while let Ok(child) = process::wait(-1, libc::__WALL | libc::WNOHANG) {
        if child.pid == 0 {
            if runner.share_memory {
                runner.backend.lift_bandwidth(&shared.launch.get());
            }
            let _ = calls::kill(-1, libc::SIGKILL);
            let _ = process::wait(-1, libc::__WALL);
        }
    }
    end.launch = shared.launched.load(Relaxed);
    if end.launch == 0 {
        // The preparation failed; the runner reports it.
        calls::exit(1);
    }
    if shared.revoked.load(SeqCst) == end.launch {
        // The supervisor is ending the run. It has killed other processes first and will kill pid1.
        calls::exit(1);
    }
    let start = shared.start.get();
    runner
        .backend
        .measure(shared, &start, process::children_usage(), &mut end);
    let report = Report {
        template: Default::default(),
        start,
        failure: shared.failure.get(),
        end,
    };
    if send_report(runner.socket, message::DONE, &report) {
        shared.reported.store(1, Relaxed);
        if !runner.cpu_mask.is_empty() {
            // The supervisor is on this CPU and need not wait until the namespaces are removed. If
            // the supervisor was scheduled first, it has usually moved pid1 already.
            let _ = calls::set_affinity(&runner.cpu_mask);
        }
    }
    calls::exit(0)
}

/// Drops everything except the socket to the supervisor, the files with figures, and the system
/// calls that use them. The target has its own descriptor table and its own seccomp program.
fn confine(prepared: &Prepared) -> Result<()> {
    let runner = prepared.runner;
    runner.backend.close_limits();
    for fd in [
        runner.launches,
        runner.procfs,
        runner.network,
        runner.sockstat,
        runner.null,
        runner.own_pidfd,
        prepared.parent_pidfd,
    ] {
        let _ = calls::close(fd);
    }
    prepared.of_network.close_copies();
    calls::attach_seccomp(crate::confine::PID1)
}

fn at(step: Step) -> impl Fn(Errno) -> Failure {
    move |errno| Failure::new(step, errno)
}

fn prepare(prepared: &Prepared) -> core::result::Result<(), Failure> {
    let runner = prepared.runner;
    // pid1 must die with its parent. The parent may have died before this call. A pidfd shows that;
    // getppid() returns 0 here, because the parent is in another PID namespace.
    calls::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as usize, 0, 0, 0)
        .map_err(at(Step::ParentDeath))?;
    if calls::is_readable(prepared.parent_pidfd) {
        return Err(Failure::new(Step::ParentDeath, Errno(libc::ESRCH)));
    }
    if runner.backend.needs_cgroup_namespace() {
        calls::unshare(libc::CLONE_NEWCGROUP).map_err(at(Step::CgroupNamespace))?;
    }
    if runner.backend.needs_no_other_cgroup_namespace() {
        // A run that may create namespaces could mount its own cgroup in another cgroup namespace.
        // The sysctl applies to the current user namespace and those below it.
        calls::write_file(runner.procfs, c"sys/user/max_cgroup_namespaces", b"0")
            .map_err(at(Step::OtherCgroupNamespaces))?;
    }
    // Map one user id and one group id, which an unprivileged process may do for its own ids
    // (user_namespaces(7)). The supervisor's user namespace already denies setgroups(2).
    let map = |file, inside: u32, outside: u32| {
        let line = Line::<32>::new()
            .number(u64::from(inside))
            .text(b" ")
            .number(u64::from(outside))
            .text(b" 1");
        calls::write_file(runner.procfs, file, line.as_bytes())
    };
    map(c"self/uid_map", prepared.uid, runner.uid).map_err(at(Step::UidMap))?;
    map(c"self/gid_map", prepared.gid, runner.gid).map_err(at(Step::GidMap))?;

    // Before this step, the streams are the supervisor's, which all runs would share. The target
    // inherits the new ones, and replaces those that the request gives.
    null::replace_standard_streams(runner).map_err(at(Step::Descriptors))?;
    // The copies of a template may mount a procfs only while the template's own one is whole.
    let system_files = prepared.program.is_none();
    run_mounts::carry_out(prepared.mounts, runner.procfs, system_files).map_err(
        |(object, step, errno)| Failure {
            object,
            ..Failure::new(step, errno)
        },
    )?;
    if prepared.makes_namespaces {
        limit_namespaces(runner.procfs);
    }
    run_mounts::give_up_capabilities().map_err(at(Step::Capabilities))
}

/// Limits the namespaces that one run can create. The kernel counts namespaces for each user,
/// across all user namespaces (`inc_ucount()` in kernel/ucount.c). Without this bound, one run
/// could use up all of them, and no other run and no runner could create one. Where /proc/sys is
/// read-only, as in containers, that remains possible.
fn limit_namespaces(procfs: i32) {
    for kind in [
        c"sys/user/max_user_namespaces",
        c"sys/user/max_pid_namespaces",
        c"sys/user/max_mnt_namespaces",
        c"sys/user/max_net_namespaces",
        c"sys/user/max_ipc_namespaces",
        c"sys/user/max_uts_namespaces",
        c"sys/user/max_cgroup_namespaces",
        c"sys/user/max_time_namespaces",
    ] {
        let Ok(file) = calls::openat(procfs, kind, libc::O_RDWR, 0) else {
            continue;
        };
        let mut text = [0; 24];
        // Never raise a limit.
        if calls::read_at_start(file, &mut text)
            .is_ok_and(|text| leading_number(text) > MAX_NAMESPACES)
        {
            let _ = calls::write(file, Decimal::new(MAX_NAMESPACES).as_bytes());
        }
        let _ = calls::close(file);
    }
}

/// The maximum number of namespaces of each kind for a run that may create them. A run can build
/// its own sandboxes with this number.
const MAX_NAMESPACES: u64 = 32;

//! pid1: the init process of one run's PID namespace.
//!
//! It is needed because whoever is process 1 of a PID namespace holds it together: it
//! reaps orphans, no signal from inside can hurt it, and when it ends the kernel kills
//! everything else in there. So a run is over, whole tree and all, when pid1 is gone.
//!
//! It makes the part of the world that belongs to one run alone (ids, fresh tmpfs and
//! procfs), gives up all capabilities, makes the target, waits for it, kills what the
//! target left behind, reads the figures and reports.
//!
//! It may touch: its own namespaces, the shared memory, the cgroup files of its runner, one end of
//! the runner's socket. By default it runs in its runner's memory (`CLONE_VM`), on a stack of its
//! own: no allocation, no locks, no libc; see [`crate::sys`] for the rules and
//! docs/security/shared-memory.md for the reasoning. The target cannot reach it: it is not dumpable
//! (from before the exec on), has no descriptor that the target keeps, and reads nothing from the
//! target but its wait status.

use crate::launch::{End, Failure, Report, message};
use crate::runner::{RunMount, tell};
use crate::sys::ascii::{Decimal, Line, leading_number};
use crate::sys::{Errno, Result, calls, process};
use crate::target;
use crate::zygote::Prepared;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use millibox_wire::Step;

/// Every securebit and its lock but KEEP_CAPS (capabilities(7)): root inside is
/// nobody special, also after an exec.
pub const SECUREBITS: usize = 0b1110_1111;

/// pid1's whole life.
pub fn main(prepared: &Prepared) -> ! {
    if let Err(failure) = prepare(prepared) {
        give_up(prepared, failure);
    }
    process::spawn_and_go_on(
        &prepared.runner.target_stack,
        target::main,
        prepared,
        |target| match target {
            Ok(target) => watch(prepared, target),
            Err(errno) => give_up(prepared, Failure::new(Step::CloneTarget, errno)),
        },
    )
}

/// The runner finds the failure when it has waited for us.
fn give_up(prepared: &Prepared, failure: Failure) -> ! {
    prepared.runner.shared.failure.set(failure);
    calls::exit(1)
}

/// Gives up what is not needed any more, waits for the first process, kills what it left behind,
/// reads the figures, reports.
fn watch(prepared: &Prepared, target: i32) -> ! {
    let runner = prepared.runner;
    let shared = runner.shared;
    // In its runner's memory pid1 has inherited the world's program, and another would hold
    // nothing: whoever has pid1 has the runner.
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
            // Cannot be: the target is our child.
            Err(_) => calls::exit(1),
        }
    }
    // Whoever is left in the namespace is a child of ours or below one. Mostly nobody is:
    // kill(-1) would ask every process of the host.
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
        // Preparing failed; the runner tells.
        calls::exit(1);
    }
    if shared.revoked.load(SeqCst) == end.launch {
        // The supervisor ends the run, has begun with the others, and will come to us.
        calls::exit(1);
    }
    let start = shared.start.get();
    runner
        .backend
        .measure(shared, &start, process::children_usage(), &mut end);
    let report = Report {
        start,
        failure: shared.failure.get(),
        end,
    };
    if tell(runner.socket, message::DONE, &report) {
        shared.reported.store(1, Relaxed);
        if !runner.held_on.is_empty() {
            // Whom we have told is here, too, and need not wait until all is taken apart. It has
            // mostly sent us there already, if it was let on before us.
            let _ = calls::set_affinity(&runner.held_on);
        }
    }
    calls::exit(0)
}

/// What is left are the socket to the supervisor, files to read figures from, and the calls for
/// that. The target has its own table of descriptors and its own program.
fn confine(prepared: &Prepared) -> Result<()> {
    let runner = prepared.runner;
    runner.backend.close_limits();
    for fd in [
        runner.launches,
        runner.procfs,
        runner.network,
        runner.sockstat,
        runner.own_pidfd,
        prepared.parent_pidfd,
    ] {
        let _ = calls::close(fd);
    }
    calls::attach_seccomp(crate::confine::PID1)
}

fn at(step: Step) -> impl Fn(Errno) -> Failure {
    move |errno| Failure::new(step, errno)
}

fn prepare(prepared: &Prepared) -> core::result::Result<(), Failure> {
    let runner = prepared.runner;
    // Our parent's death is ours. It may have died before this call: a pidfd tells,
    // where getppid() says 0, since the parent is in another PID namespace.
    calls::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as usize, 0, 0, 0)
        .map_err(at(Step::ParentDeath))?;
    if calls::is_readable(prepared.parent_pidfd) {
        return Err(Failure::new(Step::ParentDeath, Errno(libc::ESRCH)));
    }
    if runner.backend.needs_cgroup_namespace() {
        calls::unshare(libc::CLONE_NEWCGROUP).map_err(at(Step::CgroupNamespace))?;
    }
    if runner.backend.needs_no_other_cgroup_namespace() {
        // A run that its caller lets make namespaces could mount its own cgroup in another one.
        // What is written counts for the user namespace that we are in, and those below it.
        calls::write_file(runner.procfs, c"sys/user/max_cgroup_namespaces", b"0")
            .map_err(at(Step::OtherCgroupNamespaces))?;
    }
    // One id each, as an unprivileged user may map its own (user_namespaces(7));
    // setgroups(2) is denied since the supervisor's own user namespace.
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

    let mut stage = Stage {
        descriptor: -1,
        is_covered: true,
    };
    for (object, mount) in prepared.mounts {
        run_mount(mount, &mut stage, runner.procfs).map_err(|(step, errno)| Failure {
            object: *object,
            ..Failure::new(step, errno)
        })?;
    }
    stage.close();
    if prepared.makes_namespaces {
        limit_namespaces(runner.procfs);
    }
    give_up_capabilities().map_err(at(Step::Capabilities))
}

/// The kernel counts namespaces for the user, in all of them together (`inc_ucount()` in
/// kernel/ucount.c): without bounds of its own one run could have as many as all may, and no other,
/// nor we, could make any. Where /proc/sys cannot be written, as in containers, that stays so.
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
        // Never more than there is already.
        if calls::read_at_start(file, &mut text)
            .is_ok_and(|text| leading_number(text) > MOST_NAMESPACES)
        {
            let _ = calls::write(file, Decimal::new(MOST_NAMESPACES).as_bytes());
        }
        let _ = calls::close(file);
    }
}

/// Of each kind, of a run that may make them: enough for sandboxes of its own.
const MOST_NAMESPACES: u64 = 32;

/// The template's staging directory.
struct Stage {
    /// -1: there is none.
    descriptor: i32,
    /// The run's own tmpfs is on it.
    is_covered: bool,
}

impl Stage {
    fn close(&self) {
        if self.descriptor >= 0 {
            let _ = calls::close(self.descriptor);
        }
    }
}

/// Mounts on this very directory, wherever it is by now: who may write above it may have moved it.
fn mount_on(
    directory: i32,
    kind: &core::ffi::CStr,
    flags: libc::c_ulong,
    options: &core::ffi::CStr,
) -> core::result::Result<(), (Step, Errno)> {
    let while_mounting = |errno| (Step::Mount, errno);
    calls::fchdir(directory).map_err(while_mounting)?;
    calls::mount(kind, c".", kind, flags, options).map_err(while_mounting)?;
    calls::chdir(c"/").map_err(while_mounting)
}

/// Opens a directory that must be the one that the template has there. `ESTALE`: it is another,
/// since a run that may write above has moved or removed it; what the template had there may be
/// anywhere.
fn open_templates(
    path: &core::ffi::CStr,
    is_it: impl Fn((u64, u64)) -> bool,
) -> core::result::Result<i32, (Step, Errno)> {
    let while_mounting = |errno| (Step::Mount, errno);
    let found = calls::openat(libc::AT_FDCWD, path, libc::O_PATH | libc::O_DIRECTORY, 0)
        .map_err(while_mounting)?;
    if is_it(calls::identity(found).map_err(while_mounting)?) {
        Ok(found)
    } else {
        Err(while_mounting(Errno(libc::ESTALE)))
    }
}

/// Carries out one mount of the run's own.
fn run_mount(
    mount: &RunMount,
    stage: &mut Stage,
    procfs: i32,
) -> core::result::Result<(), (Step, Errno)> {
    let while_mounting = |errno| (Step::Mount, errno);
    let while_making = |errno| (Step::MountPoint, errno);
    match mount {
        RunMount::Tmpfs {
            path,
            options,
            no_exec,
        } => {
            let flags =
                libc::MS_NOSUID | libc::MS_NODEV | if *no_exec { libc::MS_NOEXEC } else { 0 };
            if stage.is_covered {
                return calls::mount(c"tmpfs", path, c"tmpfs", flags, options)
                    .map_err(while_mounting);
            }
            stage.is_covered = true;
            mount_on(stage.descriptor, c"tmpfs", flags, options)
        }
        RunMount::Proc { path, options } => {
            let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_RDONLY;
            // It covers the host's, which must not be left anywhere.
            let hosts = calls::identity(procfs).map_err(while_mounting)?;
            let found = open_templates(path, |its| its == hosts)?;
            let answer = mount_on(found, c"proc", flags, options);
            let _ = calls::close(found);
            answer
        }
        RunMount::OpenStage { path, device } => {
            stage.close();
            *stage = Stage {
                descriptor: open_templates(path, |its| its.0 == *device)?,
                is_covered: false,
            };
            Ok(())
        }
        RunMount::FromStage { name, path } => {
            let flags = libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC | libc::AT_RECURSIVE as u32;
            let tree = calls::open_tree(stage.descriptor, name, flags).map_err(while_mounting)?;
            let answer = calls::move_mount(tree, libc::AT_FDCWD, path, 0).map_err(while_mounting);
            let _ = calls::close(tree);
            answer
        }
        RunMount::CreateDir {
            path,
            mode,
            may_exist,
        } => match calls::mkdirat(libc::AT_FDCWD, path, 0o700) {
            Ok(()) => calls::chmodat(libc::AT_FDCWD, path, *mode).map_err(while_making),
            Err(Errno(libc::EEXIST)) if *may_exist => Ok(()),
            Err(errno) => Err(while_making(errno)),
        },
        RunMount::CreateFile {
            path,
            mode,
            may_exist,
        } => {
            let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY;
            match calls::openat(libc::AT_FDCWD, path, flags, 0o600) {
                Ok(fd) => {
                    let _ = calls::close(fd);
                    calls::chmodat(libc::AT_FDCWD, path, *mode).map_err(while_making)
                }
                Err(Errno(libc::EEXIST)) if *may_exist => Ok(()),
                Err(errno) => Err(while_making(errno)),
            }
        }
        RunMount::Symlink { target, path } => {
            calls::symlinkat(target, libc::AT_FDCWD, path).map_err(while_making)
        }
    }
}

fn give_up_capabilities() -> Result<()> {
    // The bounding set ends at the last capability the kernel knows: EINVAL.
    let mut capability = 0;
    loop {
        match calls::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) {
            Ok(_) => capability += 1,
            Err(Errno(libc::EINVAL)) => break,
            Err(errno) => return Err(errno),
        }
    }
    calls::prctl(libc::PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0)?;
    calls::drop_capabilities()
}

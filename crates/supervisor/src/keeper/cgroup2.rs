//! Creates unified cgroups in a subtree that belongs to the caller.
//!
//! ```text
//! PARENT/                      delegated: its controllers are enabled for its children
//! ├── callers/                 processes that were in PARENT (only leaves may have processes)
//! └── millibox-PID-RANDOM/     created here
//!     ├── supervisor/          supervisor and runners
//!     └── run-0.0/ ...         one for each run
//! ```
//!
//! PARENT is the first of these that can be used:
//!
//! * the cgroup that `--cgroup-parent` names,
//! * the keeper's own cgroup or the one above it, if they are writable and systemd does not manage
//!   them,
//! * a scope that systemd creates for the keeper, with `Delegate=yes`.
//!
//! A cgroup that systemd has created and not delegated is not used, even if the user may write to
//! it. Root may write to all such cgroups, and a user to those of the user's own systemd manager.
//! systemd enables and disables controllers in them as it sees fit (systemd's CGROUP_DELEGATION).

use super::hosts::{Hierarchy, Hosts, unit_of};
use super::{Made, OwnCgroup, Supervisor, cause, fresh_name, remove};
use crate::backend::Handover;
use crate::options::Options;
use millibox_wire::{BackendCause, BackendStep, ProcessEnd};
use rustix::fs::{Access, FlockOperation, Mode, OFlags};
use rustix::io::FdFlags;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The controllers without which the backend cannot limit a run.
const NEEDED: [&str; 2] = ["memory", "pids"];
/// The controller that the CPU bandwidth limit needs. It is not needed to count CPU time, which
/// every cgroup does. Some versions of systemd do not delegate this controller to user managers.
const CPU: &str = "cpu";
/// The cgroup for processes that were in PARENT.
const CALLERS: &str = "callers";
/// The time that another keeper may take to prepare PARENT.
const BUSY_TIMEOUT: Duration = Duration::from_secs(3);

/// Processes that were moved out of PARENT so that its controllers could be enabled.
pub struct Evacuated {
    parent: String,
}

impl Evacuated {
    /// Moves the processes back, unless another supervisor still needs PARENT.
    pub fn back(self) {
        let _lock = lock(&self.parent);
        let mut below = std::fs::read_dir(&self.parent)
            .into_iter()
            .flatten()
            .flatten();
        if below.any(|entry| {
            entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != CALLERS
        }) {
            return;
        }
        let control = format!("{}/cgroup.subtree_control", self.parent);
        let off: Vec<String> = words(&control)
            .iter()
            .map(|name| format!("-{name}"))
            .collect();
        if off.is_empty() || std::fs::write(&control, off.join(" ")).is_ok() {
            let callers = format!("{}/{CALLERS}", self.parent);
            move_all(&callers, &self.parent);
            let _ = rustix::fs::rmdir(&callers);
        }
    }
}

/// Creates the subtree. The error contains one cause for each place that was tried.
pub fn make(hosts: &Hosts, options: &Options) -> Result<Made, Vec<BackendCause>> {
    let hierarchy = hosts
        .version2
        .as_ref()
        .ok_or_else(|| vec![BackendCause::new(BackendStep::FindHierarchy)])?;
    let own = hierarchy
        .own_directory()
        .ok_or_else(|| vec![BackendCause::new(BackendStep::FindOwnCgroup)])?;
    has_controllers(&hierarchy.mount).map_err(|cause| vec![cause])?;
    if let Some(parent) = &options.cgroup_parent {
        let parent = format!("{}{}", hierarchy.mount, parent.trim_end_matches('/'));
        return below(&parent, Occupancy::Empty, options).map_err(|cause| vec![cause]);
    }
    // The choice treats processes that were moved to `callers` as if they were in PARENT.
    let (own, moved) = match own.strip_suffix(&format!("/{CALLERS}")) {
        Some(parent) => (parent, true),
        None => (own.as_str(), false),
    };
    let mut causes = Vec::new();
    match may_divide(hierarchy, own, options) {
        Ok(()) => {
            for (parent, occupancy) in candidates(hierarchy, own, moved) {
                match below(&parent, occupancy, options) {
                    Ok(made) => return Ok(made),
                    // The same directory may be tried twice and fail twice for the same reason.
                    Err(cause) if causes.contains(&cause) => {}
                    Err(cause) => causes.push(cause),
                }
            }
        }
        Err(cause) => causes.push(cause),
    }
    if !options.scoped {
        causes.push(match Manager::find() {
            Some(manager) => manager.scope(options),
            None => BackendCause::new(BackendStep::FindManager),
        });
    }
    causes.push(BackendCause::new(BackendStep::FindDelegated));
    Err(causes)
}

/// Whether PARENT has processes, which must not exist next to child cgroups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Occupancy {
    /// PARENT must already be empty.
    Empty,
    /// The keeper moves its processes to a leaf.
    MustMove,
    /// Another supervisor has moved its processes. The last supervisor moves them back.
    Moved,
}

/// The possible places for the subtree, best first.
fn candidates(hierarchy: &Hierarchy, own: &str, moved: bool) -> Vec<(String, Occupancy)> {
    let path = own.strip_prefix(hierarchy.mount.as_str()).unwrap_or("");
    let top = || may_divide_top().then(|| hierarchy.mount.clone());
    let above = match unit_of(path) {
        // A cgroup above a unit never belongs to that unit.
        Some(unit) if unit.len() == path.len() => None,
        _ => match path.rsplit_once('/') {
            Some(("", _)) => top(),
            Some((above, _)) => Some(format!("{}{above}", hierarchy.mount)),
            None => None,
        },
    };
    let mut all = vec![(
        own.to_owned(),
        if moved {
            Occupancy::Moved
        } else {
            Occupancy::Empty
        },
    )];
    all.extend(above.map(|above| (above, Occupancy::Empty)));
    if rustix::process::geteuid().is_root() && unit_of(path).is_none() {
        all.extend(top().map(|top| (top, Occupancy::Empty)));
    }
    // As the last resort, move processes within the keeper's own subtree.
    all.push((own.to_owned(), Occupancy::MustMove));
    all.dedup();
    all
}

/// Whether cgroups may be created at the top of the hierarchy, if it is writable.
fn may_divide_top() -> bool {
    // sd_booted(3)
    !(rustix::process::geteuid().is_root() && Path::new("/run/systemd/system").is_dir())
}

/// Checks that `own` does not lie in a part that only systemd manages. Returns the reason
/// otherwise.
fn may_divide(hierarchy: &Hierarchy, own: &str, options: &Options) -> Result<(), BackendCause> {
    let path = own.strip_prefix(hierarchy.mount.as_str()).unwrap_or("");
    let Some(unit) = unit_of(path) else {
        let usable = !path.is_empty() || may_divide_top();
        return if usable {
            Ok(())
        } else {
            Err(BackendCause::new(BackendStep::LeaveSystemd).with_subject(own))
        };
    };
    // systemd has just created it for this keeper.
    if options.scoped {
        return Ok(());
    }
    let directory = format!("{}{unit}", hierarchy.mount);
    let name = unit.rsplit('/').next().unwrap_or(unit);
    let managed_by_systemd =
        || Err(BackendCause::new(BackendStep::CheckDelegation).with_subject(&directory));
    if name.starts_with("user@") {
        // The unit is delegated, but to the user's manager.
        return managed_by_systemd();
    }
    if has_delegate_attribute(&directory) {
        return Ok(());
    }
    let root = rustix::process::geteuid().is_root();
    let users = unit.contains("/user@");
    if !root && !users {
        // The system's manager makes a unit writable only for the user to which it is delegated.
        return Ok(());
    }
    if root && users {
        return managed_by_systemd();
    }
    match Manager::find().map(|manager| manager.has_delegated(name)) {
        Some(true) => Ok(()),
        Some(false) => managed_by_systemd(),
        // Without a manager no process manages the cgroup.
        None if !root => Ok(()),
        None => managed_by_systemd(),
    }
}

/// Whether systemd has marked a unit as delegated. User managers have done so since about version
/// 253.
fn has_delegate_attribute(directory: &str) -> bool {
    ["user.delegate", "trusted.delegate"]
        .into_iter()
        .any(|name| {
            let mut value = [0u8; 8];
            rustix::fs::getxattr(directory, name, &mut value)
                .is_ok_and(|length| value[..length] == *b"1")
        })
}

/// A running systemd manager: the user's, or the system's for root.
struct Manager {
    /// `$XDG_RUNTIME_DIR` of a user's manager.
    runtime: Option<PathBuf>,
}

impl Manager {
    fn find() -> Option<Manager> {
        let user = rustix::process::geteuid();
        // su and cron leave the variable unset even if the user's manager runs.
        let runtime = (!user.is_root()).then(|| {
            let named = std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty());
            named.map_or_else(
                || PathBuf::from(format!("/run/user/{}", user.as_raw())),
                PathBuf::from,
            )
        });
        let socket = runtime
            .as_deref()
            .unwrap_or(Path::new("/run"))
            .join("systemd/private");
        std::os::unix::net::UnixStream::connect(socket)
            .ok()
            .map(|_| Manager { runtime })
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        if let Some(runtime) = &self.runtime {
            command.env("XDG_RUNTIME_DIR", runtime).arg("--user");
        }
        command
    }

    /// Whether a unit is delegated to its owner.
    fn has_delegated(&self, unit: &str) -> bool {
        let mut command = self.command("systemctl");
        command.args(["show", "--property=Delegate", "--value", "--", unit]);
        let answer = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
        answer.is_ok_and(|answer| answer.stdout.trim_ascii() == b"yes")
    }

    /// Executes this program again in its own scope. Returns only if that fails.
    fn scope(&self, options: &Options) -> BackendCause {
        // systemd-run resolves the program itself, so it needs the path and not /proc/self/exe.
        let program = match std::env::current_exe() {
            Ok(program) => program,
            Err(error) => return BackendCause::new(BackendStep::FindExecutable).with_io(&error),
        };
        let scope = || {
            let mut command = self.command("systemd-run");
            command
                .args([
                    "--scope",
                    "--quiet",
                    "--collect",
                    "--property=Delegate=yes",
                    "--",
                ])
                .arg(&program);
            command
        };
        // Once systemd-run is executed, this process cannot fall back to another backend. So first
        // check that systemd-run works.
        match scope().arg("--version").stdin(Stdio::null()).output() {
            Ok(answer) if answer.status.success() => {}
            Ok(answer) => {
                let message = String::from_utf8_lossy(&answer.stderr);
                return BackendCause::new(BackendStep::CreateScope {
                    end: match (answer.status.code(), answer.status.signal()) {
                        (Some(code), _) => ProcessEnd::Exited(code),
                        (None, signal) => ProcessEnd::Killed(signal.unwrap_or_default()),
                    },
                    message: message.trim().replace('\n', ", "),
                });
            }
            Err(error) => return BackendCause::new(BackendStep::ExecuteSystemdRun).with_io(&error),
        }
        let socket = crate::sys::borrow(options.socket);
        let pass = |flags| rustix::io::fcntl_setfd(socket, flags);
        if let Err(errno) = pass(FdFlags::empty()) {
            return BackendCause::new(BackendStep::PassSocket).with_errno(errno.raw_os_error());
        }
        let arguments = std::env::args_os()
            .skip(1)
            .filter(|argument| !argument.as_encoded_bytes().starts_with(b"--socket="));
        let mut command = scope();
        command
            .args(arguments)
            .arg(format!("--socket={}", options.socket))
            .arg("--scoped");
        let error = command.exec();
        let _ = pass(FdFlags::CLOEXEC);
        BackendCause::new(BackendStep::ExecuteSystemdRun).with_io(&error)
    }
}

/// Keeps other keepers from preparing `parent` at the same time. Any process can take this lock and
/// never release it, so after a while this keeper continues without it.
fn lock(parent: &str) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(parent, flags, Mode::empty()).ok()?;
    let begin = Instant::now();
    while rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive).is_err() {
        if begin.elapsed() > BUSY_TIMEOUT {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Some(directory)
}

/// Creates the subtree below `parent`.
fn below(parent: &str, occupancy: Occupancy, options: &Options) -> Result<Made, BackendCause> {
    for file in ["", "/cgroup.procs"] {
        let file = format!("{parent}{file}");
        rustix::fs::access(&file, Access::WRITE_OK)
            .map_err(cause(BackendStep::CheckWritable, file))?;
    }
    let lock = lock(parent);
    has_controllers(parent)?;
    remove::sweep_orphans(parent);
    let mut evacuated = (occupancy == Occupancy::Moved).then(|| Evacuated {
        parent: parent.to_owned(),
    });
    if !wanted(parent).is_empty() {
        if occupancy == Occupancy::MustMove {
            let callers = format!("{parent}/{CALLERS}");
            match rustix::fs::mkdir(&callers, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(errno) => return Err(cause(BackendStep::CreateCgroup, callers)(errno)),
            }
            move_all(parent, &callers);
            evacuated = Some(Evacuated {
                parent: parent.to_owned(),
            });
        }
        if let Err(why) = enable(parent) {
            drop(lock);
            if let Some(evacuated) = evacuated {
                evacuated.back();
            }
            return Err(why);
        }
    }
    let top = OwnCgroup::make(parent, &fresh_name())?;
    let path = top.path.clone();
    let made = (|| {
        enable(&path)?;
        let supervisor = format!("{path}/supervisor");
        rustix::fs::mkdir(&supervisor, Mode::from_raw_mode(0o755))
            .map_err(cause(BackendStep::CreateCgroup, supervisor.as_str()))?;
        super::check_swap_limit(&format!("{supervisor}/memory.swap.max"))?;
        let directory = super::open_control(
            &supervisor,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        )?;
        if let Some((uid, gid)) = crate::start::target_user(options) {
            // The supervisor may divide the cgroup, but not change its limits. The files of `path`
            // itself belong to root, except for those needed to move processes below it.
            for file in [
                "",
                "/cgroup.procs",
                "/supervisor",
                "/supervisor/cgroup.procs",
            ] {
                let file = format!("{path}{file}");
                rustix::fs::chown(
                    &file,
                    Some(rustix::fs::Uid::from_raw(uid)),
                    Some(rustix::fs::Gid::from_raw(gid)),
                )
                .map_err(cause(BackendStep::HandOver, file))?;
            }
        }
        let base = super::open_control(&path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        Ok((base, directory))
    })();
    match made {
        Ok((base, directory)) => Ok(Made {
            handover: Handover::Cgroup2 {
                base: base.as_raw_fd(),
                limits_hold_inside: super::hosts::limits_hold_inside(),
            },
            tops: vec![top],
            open: vec![base],
            supervisor: Supervisor::Inside(directory),
            renewals: None,
            evacuated,
        }),
        Err(why) => {
            remove::remove_waiting([path.as_str()]);
            drop((top, lock));
            if let Some(evacuated) = evacuated {
                evacuated.back();
            }
            Err(why)
        }
    }
}

/// The words of a control file; empty if it cannot be read.
fn words(path: &str) -> Vec<String> {
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// Checks that a cgroup has the required controllers.
fn has_controllers(directory: &str) -> Result<(), BackendCause> {
    let present = words(&format!("{directory}/cgroup.controllers"));
    let missing: Vec<String> = NEEDED
        .into_iter()
        .filter(|name| !present.iter().any(|controller| controller == name))
        .map(str::to_owned)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(BackendCause::new(BackendStep::Controllers(missing)).with_subject(directory))
}

/// The wanted controllers that `directory` has and that are not yet enabled for its children.
fn wanted(directory: &str) -> Vec<String> {
    let enabled = words(&format!("{directory}/cgroup.subtree_control"));
    let mut wanted = words(&format!("{directory}/cgroup.controllers"));
    wanted
        .retain(|name| (NEEDED.contains(&name.as_str()) || name == CPU) && !enabled.contains(name));
    wanted
}

fn enable(directory: &str) -> Result<(), BackendCause> {
    let wanted = wanted(directory);
    let control = format!("{directory}/cgroup.subtree_control");
    let on: Vec<String> = wanted.iter().map(|name| format!("+{name}")).collect();
    std::fs::write(&control, on.join(" ")).map_err(|error| {
        BackendCause::new(BackendStep::EnableControllers(wanted))
            .with_subject(directory)
            .with_io(&error)
    })
}

/// Moves all processes of one cgroup to another. New processes may appear in the meantime.
fn move_all(from: &str, to: &str) {
    for _ in 0..10 {
        let processes = words(&format!("{from}/cgroup.procs"));
        if processes.is_empty() {
            return;
        }
        for process in processes {
            let _ = std::fs::write(format!("{to}/cgroup.procs"), process);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_depend_on_systemd_unit() {
        let hierarchy = |own: &str| Hierarchy {
            controllers: Vec::new(),
            mount: "/cg".to_owned(),
            root: "/".to_owned(),
            own: own.to_owned(),
        };
        let places = |own: &str, moved| {
            let host = hierarchy(own);
            let all = candidates(&host, &host.own_directory().unwrap_or_default(), moved);
            all.into_iter()
                .map(|(path, occupancy)| format!("{path} {occupancy:?}"))
                .collect::<Vec<String>>()
        };
        let scope = "/user.slice/user-1.slice/user@1.service/app.slice/run-r1.scope";
        // A cgroup above a unit is not a candidate.
        assert_eq!(
            places(scope, false),
            [format!("/cg{scope} Empty"), format!("/cg{scope} MustMove")]
        );
        assert_eq!(
            places(scope, true),
            [format!("/cg{scope} Moved"), format!("/cg{scope} MustMove")]
        );
        let below = format!("{scope}/main");
        assert_eq!(
            places(&below, false),
            [
                format!("/cg{below} Empty"),
                format!("/cg{scope} Empty"),
                format!("/cg{below} MustMove")
            ]
        );
        let plain = places("/sbx/main", false);
        assert_eq!(plain[..2], ["/cg/sbx/main Empty", "/cg/sbx Empty"]);
        assert_eq!(
            plain.last().map(String::as_str),
            Some("/cg/sbx/main MustMove")
        );
    }
}

//! Making unified cgroups in a subtree that is ours to divide.
//!
//! ```text
//! PARENT/                      delegated: its controllers are enabled for its children
//! ├── callers/                 whoever was in PARENT (processes may only be in leaves)
//! └── millibox-PID-RANDOM/     ours
//!     ├── supervisor/          supervisor and runners
//!     └── run-0.0/ ...         one for each run
//! ```
//!
//! PARENT is, in this order: what `--cgroup-parent` names; our own cgroup or the one above
//! it, where they may be written and are not systemd's to divide; a scope that systemd makes
//! for us, with `Delegate=yes`.
//!
//! What systemd has made and not delegated is let alone even by who may write there (root,
//! and a user among the units of the user's own manager): systemd switches controllers on
//! and off in it as it sees fit (systemd's CGROUP_DELEGATION).

use super::hosts::{Hierarchy, Hosts, unit_of};
use super::{Made, Refusal, Supervisor, Top, fresh_name, remove};
use crate::backend::Handover;
use crate::options::Options;
use rustix::fs::{Access, FlockOperation, Mode, OFlags};
use rustix::io::FdFlags;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Without these nothing is held.
const NEEDED: [&str; 2] = ["memory", "pids"];
/// For the CPU bandwidth alone (CPU time is counted in every cgroup): some systemds do not
/// delegate it to users' managers.
const CPU: &str = "cpu";
/// Where processes go that were in PARENT.
const CALLERS: &str = "callers";
/// How long another keeper may need to divide PARENT.
const BUSY_TIMEOUT: Duration = Duration::from_secs(3);

/// Processes that had to leave PARENT so that its controllers could be enabled.
pub struct Evacuated {
    parent: String,
}

impl Evacuated {
    /// Puts them back, unless somebody else still needs PARENT.
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

/// Makes our subtree.
pub fn make(hosts: &Hosts, options: &Options) -> Result<Made, String> {
    let hierarchy = hosts
        .version2
        .as_ref()
        .ok_or("no unified hierarchy is mounted")?;
    let own = hierarchy
        .own_directory()
        .ok_or("our own cgroup is outside the mounted part of the hierarchy")?;
    let missing = missing(&hierarchy.mount, "cgroup.controllers");
    if !missing.is_empty() {
        return Err(format!(
            "{} has no {} controller",
            hierarchy.mount,
            missing.join(", ")
        ));
    }
    if let Some(parent) = &options.cgroup_parent {
        return below(
            &format!("{}{}", hierarchy.mount, parent.trim_end_matches('/')),
            Parent::Empty,
            options,
        );
    }
    // Who had to make room is still in PARENT, as far as the choice is concerned.
    let (own, moved) = match own.strip_suffix(&format!("/{CALLERS}")) {
        Some(parent) => (parent, true),
        None => (own.as_str(), false),
    };
    let mut reasons = Vec::new();
    match may_divide(hierarchy, own, options) {
        Ok(()) => {
            for (parent, room) in candidates(hierarchy, own, moved) {
                match below(&parent, room, options) {
                    Ok(made) => return Ok(made),
                    // One directory can be tried twice, and fail twice for one reason.
                    Err(why) if reasons.contains(&why) => {}
                    Err(why) => reasons.push(why),
                }
            }
        }
        Err(why) => reasons.push(why),
    }
    if !options.scoped {
        reasons.push(match Manager::find() {
            Some(manager) => manager.scope(options),
            None => "no systemd answers that could delegate one".to_owned(),
        });
    }
    reasons.push(
        "run under `systemd-run --user --scope -p Delegate=yes`, or name a delegated cgroup with \
         --cgroup-parent"
            .to_owned(),
    );
    Err(format!("no delegated cgroup: {}", reasons.join("; ")))
}

/// How a PARENT becomes free of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// It must be.
    Given,
    /// We move them to a leaf of it.
    Made,
    /// Another supervisor has moved them; the last one that ends takes them back.
    MadeBefore,
}

/// Where our subtree might go.
fn candidates(hierarchy: &Hierarchy, own: &str, moved: bool) -> Vec<(String, Room)> {
    let path = own.strip_prefix(hierarchy.mount.as_str()).unwrap_or("");
    let top = || may_divide_top().then(|| hierarchy.mount.clone());
    let above = match unit_of(path) {
        // What is above a unit is never that unit's.
        Some(unit) if unit.len() == path.len() => None,
        _ => match path.rsplit_once('/') {
            Some(("", _)) => top(),
            Some((above, _)) => Some(format!("{}{above}", hierarchy.mount)),
            None => None,
        },
    };
    let mut all = vec![(
        own.to_owned(),
        if moved { Room::MadeBefore } else { Parent::Empty },
    )];
    all.extend(above.map(|above| (above, Parent::Empty)));
    if rustix::process::geteuid().is_root() && unit_of(path).is_none() {
        all.extend(top().map(|top| (top, Parent::Empty)));
    }
    // Processes are moved within a subtree that was given to us, if nothing else helps.
    all.push((own.to_owned(), Room::Made));
    all.dedup();
    all
}

/// Whether the top of the hierarchy is anybody's who may write there.
fn may_divide_top() -> bool {
    // sd_booted(3)
    !(rustix::process::geteuid().is_root() && Path::new("/run/systemd/system").is_dir())
}

/// Whether what `own` lies in is not for systemd alone to divide; else why.
fn may_divide(hierarchy: &Hierarchy, own: &str, options: &Options) -> Result<(), String> {
    let path = own.strip_prefix(hierarchy.mount.as_str()).unwrap_or("");
    let Some(unit) = unit_of(path) else {
        let ours = !path.is_empty() || may_divide_top();
        return if ours {
            Ok(())
        } else {
            Err(format!("{own} is systemd's to divide"))
        };
    };
    // systemd has just made it for us.
    if options.scoped {
        return Ok(());
    }
    let directory = format!("{}{unit}", hierarchy.mount);
    let name = unit.rsplit('/').next().unwrap_or(unit);
    let managed_by_systemd = || {
        Err(format!(
            "{directory} is systemd's to divide: the unit has no Delegate=yes"
        ))
    };
    if name.starts_with("user@") {
        // Delegated, but to the user's manager.
        return managed_by_systemd();
    }
    if has_delegate_attribute(&directory) {
        return Ok(());
    }
    let root = rustix::process::geteuid().is_root();
    let users = unit.contains("/user@");
    if !root && !users {
        // The system's manager makes units writable only for whom it delegates them to.
        return Ok(());
    }
    if root && users {
        return managed_by_systemd();
    }
    match Manager::find().map(|manager| manager.has_delegated(name)) {
        Some(true) => Ok(()),
        Some(false) => managed_by_systemd(),
        // Nobody is there who would divide it.
        None if !root => Ok(()),
        None => managed_by_systemd(),
    }
}

/// What systemd marks delegated units with; managers of users do it since version 253 or so.
fn has_delegate_attribute(directory: &str) -> bool {
    ["user.delegate", "trusted.delegate"].into_iter().any(|name| {
        let mut value = [0u8; 8];
        matches!(rustix::fs::getxattr(directory, name, &mut value), Ok(length) if value[..length] == *b"1")
    })
}

/// A systemd that answers: the user's, or, for root, the system's.
struct Manager {
    /// $XDG_RUNTIME_DIR, if it is the user's.
    runtime: Option<PathBuf>,
}

impl Manager {
    fn find() -> Option<Manager> {
        let user = rustix::process::geteuid();
        // su and cron leave the variable unset though the user's manager may run.
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

    /// Whether the unit is its owner's to divide.
    fn has_delegated(&self, unit: &str) -> bool {
        let mut command = self.command("systemctl");
        command.args(["show", "--property=Delegate", "--value", "--", unit]);
        let answer = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
        answer.is_ok_and(|answer| answer.stdout.trim_ascii() == b"yes")
    }

    /// Starts this program again in a scope of its own; only returns on failure.
    fn scope(&self, options: &Options) -> String {
        // systemd-run looks the program up itself, so it needs the path, not /proc/self/exe.
        let program = match std::env::current_exe() {
            Ok(program) => program,
            Err(error) => {
                return format!("cannot find the path of the supervisor's own executable: {error}");
            }
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
        // Once it is executed there is no way back to another backend, so it is tried first.
        match scope().arg("--version").stdin(Stdio::null()).output() {
            Ok(answer) if answer.status.success() => {}
            Ok(answer) => {
                let said = String::from_utf8_lossy(&answer.stderr)
                    .trim()
                    .replace('\n', ", ");
                return format!(
                    "systemd-run cannot make a scope ({}): {said}",
                    answer.status
                );
            }
            Err(error) => return format!("cannot execute systemd-run: {error}"),
        }
        let socket = crate::sys::borrow(options.socket);
        let pass = |flags| rustix::io::fcntl_setfd(socket, flags);
        if let Err(errno) = pass(FdFlags::empty()) {
            return format!("cannot pass the client's socket on: {errno}");
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
        format!("cannot execute systemd-run: {error}")
    }
}

/// Keeps other keepers from dividing `parent` at the same time. Anybody may take such a lock
/// and keep it, so after a while we go on without.
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

/// Makes our subtree below `parent`.
fn below(parent: &str, room: Room, options: &Options) -> Result<Made, String> {
    for file in ["", "/cgroup.procs"] {
        rustix::fs::access(format!("{parent}{file}"), Access::WRITE_OK)
            .map_err(|errno| format!("{parent}{file} may not be written: {errno}"))?;
    }
    let lock = lock(parent);
    let not_there = missing(parent, "cgroup.controllers");
    if !not_there.is_empty() {
        return Err(format!(
            "{parent} has no {} controller",
            not_there.join(", ")
        ));
    }
    remove::sweep_orphans(parent);
    let mut evacuated = (room == Room::MadeBefore).then(|| Evacuated {
        parent: parent.to_owned(),
    });
    if !wanted(parent).is_empty() {
        if room == Room::Made {
            let callers = format!("{parent}/{CALLERS}");
            match rustix::fs::mkdir(&callers, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(errno) => return Err(format!("cannot make the cgroup {callers}: {errno}")),
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
    let top = Top::make(parent, &fresh_name()).map_err(Refusal::words)?;
    let path = top.path.clone();
    let made = (|| {
        enable(&path)?;
        let supervisor = format!("{path}/supervisor");
        rustix::fs::mkdir(&supervisor, Mode::from_raw_mode(0o755))
            .map_err(|errno| format!("cannot make the cgroup {supervisor}: {errno}"))?;
        super::check_swap_limit(&format!("{supervisor}/memory.swap.max"))?;
        let directory = super::open_control(
            &supervisor,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        )
        .map_err(Refusal::words)?;
        if let Some((uid, gid)) = crate::start::drops_to(options) {
            // Its own to divide, but not what limits it: the files of `path` itself stay
            // root's, except those that moving processes below needs.
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
                .map_err(|errno| format!("cannot hand over {file}: {errno}"))?;
            }
        }
        let base = super::open_control(&path, OFlags::RDONLY | OFlags::DIRECTORY)
            .map_err(Refusal::words)?;
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

/// Words of a control file; none if it cannot be read.
fn words(path: &str) -> Vec<String> {
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// Controllers we need that `file` of `directory` does not list.
fn missing(directory: &str, file: &str) -> Vec<&'static str> {
    let there = words(&format!("{directory}/{file}"));
    NEEDED
        .into_iter()
        .filter(|name| !there.iter().any(|have| have == name))
        .collect()
}

/// Controllers that `directory` has, we want, and are not yet enabled for its children.
fn wanted(directory: &str) -> Vec<String> {
    let enabled = words(&format!("{directory}/cgroup.subtree_control"));
    let mut wanted = words(&format!("{directory}/cgroup.controllers"));
    wanted
        .retain(|name| (NEEDED.contains(&name.as_str()) || name == CPU) && !enabled.contains(name));
    wanted
}

fn enable(directory: &str) -> Result<(), String> {
    let wanted = wanted(directory);
    let control = format!("{directory}/cgroup.subtree_control");
    let on: Vec<String> = wanted.iter().map(|name| format!("+{name}")).collect();
    std::fs::write(&control, on.join(" ")).map_err(|error| {
        let remedy = match error.raw_os_error() {
            Some(libc::EBUSY) => {
                ": it has processes of its own, and these may only be in leaves (cgroups(7))"
            }
            _ => "",
        };
        format!(
            "cannot enable {} below {directory}: {error}{remedy}",
            wanted.join(", ")
        )
    })
}

/// Moves all processes of one cgroup to another; new ones may appear meanwhile.
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
    fn where_a_subtree_may_go() {
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
                .map(|(path, room)| format!("{path} {room:?}"))
                .collect::<Vec<String>>()
        };
        let scope = "/user.slice/user-1.slice/user@1.service/app.slice/run-r1.scope";
        // Nothing above a unit is ours.
        assert_eq!(
            places(scope, false),
            [format!("/cg{scope} Given"), format!("/cg{scope} Made")]
        );
        assert_eq!(
            places(scope, true),
            [format!("/cg{scope} MadeBefore"), format!("/cg{scope} Made")]
        );
        let below = format!("{scope}/main");
        assert_eq!(
            places(&below, false),
            [
                format!("/cg{below} Given"),
                format!("/cg{scope} Given"),
                format!("/cg{below} Made")
            ]
        );
        let plain = places("/sbx/main", false);
        assert_eq!(plain[..2], ["/cg/sbx/main Given", "/cg/sbx Given"]);
        assert_eq!(plain.last().map(String::as_str), Some("/cg/sbx/main Made"));
    }
}

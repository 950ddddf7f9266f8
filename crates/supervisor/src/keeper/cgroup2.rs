//! Making unified cgroups in a subtree that is ours to divide.
//!
//! ```text
//! PARENT/                      delegated: its controllers are enabled for its children
//! ├── callers/                 whoever was in PARENT (processes may only be in leaves)
//! └── millibox-PID-RANDOM/     ours
//!     ├── supervisor/          supervisor and homes
//!     └── run-0.0/ ...         one for each run
//! ```
//!
//! PARENT is, in this order: what `--cgroup-parent` names; our own cgroup or the one above
//! it, where they may be written; a scope that systemd makes for us, with `Delegate=yes`.

use super::hosts::{Hierarchy, Hosts};
use super::{Made, Top, fresh_name, remove};
use crate::backend::Handover;
use crate::options::Options;
use rustix::fs::{Access, Mode, OFlags};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;

const CONTROLLERS: [&str; 3] = ["memory", "pids", "cpu"];
/// Where processes go that were in PARENT.
const CALLERS: &str = "callers";

/// Processes that had to leave PARENT so that its controllers could be enabled.
pub struct Evacuated {
    parent: String,
}

impl Evacuated {
    /// Puts them back, unless another supervisor still needs PARENT.
    pub fn back(self) {
        let ours = std::fs::read_dir(&self.parent).into_iter().flatten().flatten();
        if ours.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(remove::PREFIX)) {
            return;
        }
        let off: Vec<String> = CONTROLLERS.iter().map(|name| format!("-{name}")).collect();
        if std::fs::write(format!("{}/cgroup.subtree_control", self.parent), off.join(" ")).is_ok() {
            let callers = format!("{}/{CALLERS}", self.parent);
            move_all(&callers, &self.parent);
            let _ = rustix::fs::rmdir(&callers);
        }
    }
}

/// Makes our subtree.
pub fn make(hosts: &Hosts, options: &Options) -> Result<Made, String> {
    let hierarchy = hosts.version2.as_ref().ok_or("no unified hierarchy is mounted")?;
    let own = hierarchy.own_directory().ok_or("our own cgroup is outside the mounted part of the hierarchy")?;
    let missing = missing(&hierarchy.mount, "cgroup.controllers");
    if !missing.is_empty() {
        return Err(format!("{} has no {} controller", hierarchy.mount, missing.join(", ")));
    }
    if let Some(parent) = &options.cgroup_parent {
        return below(&format!("{}{}", hierarchy.mount, parent.trim_end_matches('/')), false, options);
    }
    let mut reasons = Vec::new();
    for (parent, evacuate) in candidates(hierarchy, &own, options) {
        match below(&parent, evacuate, options) {
            Ok(made) => return Ok(made),
            Err(why) => reasons.push(why),
        }
    }
    if !options.scoped
        && let Some(user) = manager()
    {
        return Err(ask_systemd(user));
    }
    reasons.push(
        "no delegated cgroup: run under `systemd-run --user --scope -p Delegate=yes`, or name one with --cgroup-parent"
            .to_owned(),
    );
    Err(reasons.join("; "))
}

/// Where our subtree might go, and whether processes there may be moved to a leaf.
fn candidates(hierarchy: &Hierarchy, own: &str, options: &Options) -> Vec<(String, bool)> {
    let above = own.rsplit_once('/').map(|(above, _)| above).filter(|above| above.len() >= hierarchy.mount.len());
    let root = rustix::process::geteuid().is_root();
    if root && !options.scoped && manager().is_some() {
        // Everything can be written by root, but it is systemd's to divide.
        return Vec::new();
    }
    let mut all = Vec::new();
    all.push((own.to_owned(), false));
    all.extend(above.map(|above| (above.to_owned(), false)));
    if root {
        all.push((hierarchy.mount.clone(), false));
    }
    // Processes are moved within a subtree that was given to us, if nothing else helps.
    all.push((own.to_owned(), true));
    all
}

/// Whether systemd runs and can be asked: `Some(true)` the user's, `Some(false)` the system's.
fn manager() -> Option<bool> {
    if rustix::process::geteuid().is_root() {
        return std::path::Path::new("/run/systemd/private").exists().then_some(false);
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR")?;
    std::path::Path::new(&runtime).join("systemd/private").exists().then_some(true)
}

/// Starts this program again in a scope of its own; only returns on failure.
fn ask_systemd(user: bool) -> String {
    // systemd-run looks the program up itself, so it needs the path, not /proc/self/exe.
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return format!("cannot find the path of the supervisor's own executable: {error}"),
    };
    let mut command = std::process::Command::new("systemd-run");
    if user {
        command.arg("--user");
    }
    command.args(["--scope", "--quiet", "--collect", "--property=Delegate=yes", "--"]);
    command.arg(program).args(std::env::args_os().skip(1)).arg("--scoped");
    format!("cannot execute systemd-run: {}", command.exec())
}

/// Makes our subtree below `parent`.
fn below(parent: &str, evacuate: bool, options: &Options) -> Result<Made, String> {
    let may = |path: &str| rustix::fs::access(path, Access::WRITE_OK).is_ok();
    if !may(parent) || !may(&format!("{parent}/cgroup.procs")) {
        return Err(format!("{parent} may not be written"));
    }
    let not_there = missing(parent, "cgroup.controllers");
    if !not_there.is_empty() {
        return Err(format!("{parent} has no {} controller", not_there.join(", ")));
    }
    remove::sweep_orphans(parent);
    let mut evacuated = None;
    if !missing(parent, "cgroup.subtree_control").is_empty() {
        if evacuate {
            let callers = format!("{parent}/{CALLERS}");
            match rustix::fs::mkdir(&callers, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(errno) => return Err(format!("cannot make the cgroup {callers}: {errno}")),
            }
            move_all(parent, &callers);
            evacuated = Some(Evacuated { parent: parent.to_owned() });
        }
        if let Err(why) = enable(parent) {
            if let Some(evacuated) = evacuated {
                evacuated.back();
            }
            return Err(why);
        }
    }
    let top = Top::make(parent, &fresh_name())?;
    let path = top.path.clone();
    let made = (|| {
        enable(&path)?;
        let supervisor = format!("{path}/supervisor");
        rustix::fs::mkdir(&supervisor, Mode::from_raw_mode(0o755))
            .map_err(|errno| format!("cannot make the cgroup {supervisor}: {errno}"))?;
        let procs = super::open_control(&format!("{supervisor}/cgroup.procs"), OFlags::WRONLY | OFlags::CLOEXEC)?;
        if let Some((uid, gid)) = crate::start::drops_to(options) {
            // Its own to divide, but not what limits it: the files of `path` itself stay
            // root's, except those that moving processes below needs.
            for file in ["", "/cgroup.procs", "/supervisor", "/supervisor/cgroup.procs"] {
                let file = format!("{path}{file}");
                rustix::fs::chown(&file, Some(rustix::fs::Uid::from_raw(uid)), Some(rustix::fs::Gid::from_raw(gid)))
                    .map_err(|errno| format!("cannot hand over {file}: {errno}"))?;
            }
        }
        let base = super::open_control(&path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        Ok((base, procs))
    })();
    match made {
        Ok((base, procs)) => Ok(Made {
            handover: Handover::Cgroup2 { base: base.as_raw_fd() },
            tops: vec![top],
            open: vec![base],
            supervisor: Some(procs),
            pids: None,
            evacuated,
        }),
        Err(why) => {
            remove::remove_patiently(&path);
            drop(top);
            if let Some(evacuated) = evacuated {
                evacuated.back();
            }
            Err(why)
        }
    }
}

/// Our controllers that `file` of `directory` does not list.
fn missing(directory: &str, file: &str) -> Vec<&'static str> {
    let there = std::fs::read_to_string(format!("{directory}/{file}")).unwrap_or_default();
    CONTROLLERS.into_iter().filter(|name| !there.split_whitespace().any(|have| have == *name)).collect()
}

fn enable(directory: &str) -> Result<(), String> {
    let on: Vec<String> = CONTROLLERS.iter().map(|name| format!("+{name}")).collect();
    std::fs::write(format!("{directory}/cgroup.subtree_control"), on.join(" "))
        .map_err(|error| format!("cannot enable {} below {directory}: {error}", CONTROLLERS.join(", ")))
}

/// Moves all processes of one cgroup to another; new ones may appear meanwhile.
fn move_all(from: &str, to: &str) {
    for _ in 0..10 {
        let processes = std::fs::read_to_string(format!("{from}/cgroup.procs")).unwrap_or_default();
        if processes.is_empty() {
            return;
        }
        for process in processes.lines() {
            let _ = std::fs::write(format!("{to}/cgroup.procs"), process);
        }
    }
}

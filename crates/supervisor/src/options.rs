//! The command line of the supervisor. The client library writes it, so the syntax is strict: every
//! option is `--name=value`, and unknown options are rejected.

use millibox_wire::{MAX_RUNNERS_PER_SLOT, MAX_SLOTS};
use std::ffi::OsString;

/// The requested backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendChoice {
    Auto,
    Cgroup2,
    Hybrid,
    Rlimit,
}

/// The options of the keeper and the supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// `--socket=FD`: the socket to the client. Standard input is possible.
    pub socket: i32,
    /// `--slots=N`
    pub slots: usize,
    /// `--runners=N`: the number for each slot.
    pub runners_per_slot: usize,
    /// `--backend=auto|cgroup2|hybrid|rlimit`
    pub backend: BackendChoice,
    /// `--cgroup-parent=PATH`: relative to the mount point of each hierarchy.
    pub cgroup_parent: Option<String>,
    /// `--user=UID:GID`: the user and group of the supervisor if root starts it.
    pub user: Option<(u32, u32)>,
    /// `--pid1=shared|separate`: whether pid1 shares its runner's memory.
    pub share_memory: bool,
    /// `--pin`: slot n stays on the nth CPU.
    pub pin: bool,
    /// `--cpus=N,N...`: the CPUs of the supervisor and of all runs; empty for all.
    pub cpus: Vec<usize>,
    /// `--scoped`: the keeper is in a scope that systemd has created for it.
    pub scoped: bool,
}

/// The requested task.
pub enum Task {
    /// Start as the keeper.
    Start(Options),
    /// Run as the supervisor. The keeper passes the supervisor's state through this descriptor.
    Supervise(i32),
    /// Remove the cgroups of a dead keeper.
    Sweep(Vec<String>),
    Version,
}

/// Parses the command line.
pub fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Task, String> {
    let mut options = Options {
        socket: -1,
        slots: 0,
        runners_per_slot: 3,
        backend: BackendChoice::Auto,
        cgroup_parent: None,
        user: None,
        share_memory: true,
        pin: false,
        cpus: Vec::new(),
        scoped: false,
    };
    let mut sweep = Vec::new();
    for argument in arguments {
        let argument = argument
            .into_string()
            .map_err(|bad| format!("argument {bad:?} is not text"))?;
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name, value),
            None => (argument.as_str(), ""),
        };
        let number = |least: usize, most: usize| {
            value
                .parse::<usize>()
                .ok()
                .filter(|n| (least..=most).contains(n))
                .ok_or_else(|| format!("{name}={value}: must be a number from {least} to {most}"))
        };
        match name {
            "--socket" => options.socket = number(0, 1 << 20)? as i32,
            "--slots" => options.slots = number(1, MAX_SLOTS)?,
            "--runners" => options.runners_per_slot = number(1, MAX_RUNNERS_PER_SLOT)?,
            "--backend" => {
                options.backend = match value {
                    "auto" => BackendChoice::Auto,
                    "cgroup2" => BackendChoice::Cgroup2,
                    "hybrid" => BackendChoice::Hybrid,
                    "rlimit" => BackendChoice::Rlimit,
                    _ => {
                        return Err(format!(
                            "--backend={value}: must be auto, cgroup2, hybrid or rlimit"
                        ));
                    }
                };
            }
            "--cgroup-parent" => {
                if !value.starts_with('/')
                    || value.split('/').any(|end_partner| end_partner == "..")
                {
                    return Err(format!(
                        "--cgroup-parent={value}: must be an absolute path without .."
                    ));
                }
                options.cgroup_parent = Some(value.to_owned());
            }
            "--user" => {
                // setresuid(2) interprets the value with all bits set as "no change".
                let id = |text: &str| text.parse().ok().filter(|id| *id != u32::MAX);
                let ids = value
                    .split_once(':')
                    .and_then(|(uid, gid)| Some((id(uid)?, id(gid)?)));
                options.user = Some(
                    ids.ok_or_else(|| format!("--user={value}: must be UID:GID, two numbers"))?,
                );
            }
            "--pid1" => {
                options.share_memory = match value {
                    "shared" => true,
                    "separate" => false,
                    _ => return Err(format!("--pid1={value}: must be shared or separate")),
                };
            }
            "--cpus" => {
                let most = millibox_wire::MAX_CPUS;
                let cpus = value
                    .split(',')
                    .map(|text| text.parse().ok().filter(|&cpu| cpu < most));
                options.cpus = cpus.collect::<Option<_>>().ok_or_else(|| {
                    format!("--cpus={value}: must be CPU numbers below {most}, separated by commas")
                })?;
                options.cpus.sort_unstable();
                options.cpus.dedup();
            }
            "--pin" if value.is_empty() => options.pin = true,
            "--scoped" if value.is_empty() => options.scoped = true,
            "--inherited" => return Ok(Task::Supervise(number(3, 1 << 20)? as i32)),
            "--sweep" => sweep.push(value.to_owned()),
            "--version" => return Ok(Task::Version),
            _ => {
                return Err(format!(
                    "unknown argument {argument}: this program is started by the millibox library \
                     or command, not by hand"
                ));
            }
        }
    }
    if !sweep.is_empty() {
        return Ok(Task::Sweep(sweep));
    }
    if options.socket < 0 {
        return Err(
            "--socket=FD is missing: this program is started by the millibox library or command, \
                    not by hand"
                .to_owned(),
        );
    }
    if options.slots == 0 && !options.cpus.is_empty() {
        options.slots = options.cpus.len().min(MAX_SLOTS);
    }
    if options.slots == 0 {
        options.slots = std::thread::available_parallelism()
            .map_or(1, |n| n.get())
            .min(MAX_SLOTS);
    }
    Ok(Task::Start(options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_text(text: &str) -> Result<Task, String> {
        parse(text.split_whitespace().map(OsString::from))
    }

    #[test]
    fn invalid_argument_is_named_in_error() {
        for (text, named) in [
            ("", "--socket=FD"),
            ("--socket=x", "--socket=x"),
            ("--socket=-1", "--socket=-1"),
            ("--socket=3 --slots=0", "--slots=0"),
            ("--socket=3 --backend=v3", "--backend=v3"),
            ("--socket=3 --user=root", "--user=root"),
            ("--socket=3 --user=7:4294967295", "--user=7:4294967295"),
            ("--socket=3 --cgroup-parent=a/b", "--cgroup-parent=a/b"),
            ("--socket=3 --cgroup-parent=/a/../b", "--cgroup-parent"),
            ("--socket=3 --pid1=no", "--pid1=no"),
            ("--socket=3 verbose", "verbose"),
        ] {
            let error = parse_text(text).err().unwrap_or_default();
            assert!(error.contains(named), "{text:?}: {error:?}");
        }
    }

    #[test]
    fn valid_command_line_is_parsed() {
        let Ok(Task::Start(options)) =
            parse_text("--socket=5 --slots=3 --user=7:8 --pin --pid1=separate")
        else {
            panic!("refused");
        };
        assert_eq!(
            (options.socket, options.slots, options.user),
            (5, 3, Some((7, 8)))
        );
        assert!(options.pin && !options.share_memory);
    }
}

//! Sandboxes that run one command for each run.

use super::{PreparedPeer, system, tried};
use crate::{Error, Lab};
use std::path::Path;
use std::process::Command;

/// Prepares nsjail in its mode for a single run, without a configuration file.
pub fn nsjail(lab: &Lab, path: &Path) -> Result<PreparedPeer, Error> {
    let path = path.to_owned();
    // If root starts nsjail, nsjail must also switch to a different user on the host. The argument
    // has the id inside, the id outside and the count.
    let user = if lab.machine().root {
        "60578:60578:1"
    } else {
        "60578"
    };
    let make = move || {
        let mut command = Command::new(&path);
        command
            .env_clear()
            .args(["-Mo", "--really_quiet", "--user", user, "--group", user]);
        for (place, link) in system() {
            match link {
                Some(target) => {
                    let link = format!("{}:{}", target.display(), place.display());
                    command.args(["--symlink", &link]);
                }
                None => drop(command.arg("--bindmount_ro").arg(&place)),
            }
        }
        command.args([
            "--bindmount_ro",
            "/dev/null",
            "--tmpfsmount",
            "/tmp",
            "--disable_proc",
            "--iface_no_lo",
        ]);
        command.args([
            "--time_limit",
            "10",
            "--rlimit_cpu",
            "10",
            "--rlimit_as",
            "256",
            "--rlimit_nproc",
            "16",
        ]);
        command.args(["--", "/bin/true"]);
        command
    };
    tried(
        make,
        "all namespaces fresh, binds read-only, tmpfs, no loopback, resource limits of single \
         processes (no cgroups, no seccomp program)",
    )
}

/// Prepares bubblewrap.
pub fn bubblewrap(_lab: &Lab, path: &Path) -> Result<PreparedPeer, Error> {
    let path = path.to_owned();
    let make = move || {
        let mut command = Command::new(&path);
        command.env_clear().args([
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            "--cap-drop",
            "ALL",
        ]);
        for (place, link) in system() {
            match link {
                Some(target) => command.arg("--symlink").arg(target).arg(place),
                None => command.arg("--ro-bind").arg(&place).arg(place),
            };
        }
        command.args(["--dev", "/dev", "--tmpfs", "/tmp", "--", "/bin/true"]);
        command
    };
    tried(
        make,
        "all namespaces fresh, binds read-only, its /dev, tmpfs (it has no limits; no seccomp \
         program)",
    )
}

/// Prepares firejail without a profile.
pub fn firejail(_lab: &Lab, path: &Path) -> Result<PreparedPeer, Error> {
    let path = path.to_owned();
    let make = move || {
        let mut command = Command::new(&path);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", "/root");
        command.args([
            "--quiet",
            "--noprofile",
            "--net=none",
            "--private-dev",
            "--private-tmp",
            "--read-only=/",
        ]);
        command.args([
            "--caps.drop=all",
            "--nonewprivs",
            "--seccomp",
            "--ipc-namespace",
        ]);
        command.args([
            "--rlimit-as=268435456",
            "--rlimit-cpu=10",
            "--rlimit-nproc=64",
        ]);
        command.args(["--", "/bin/true"]);
        command
    };
    tried(
        make,
        "PID, mount, IPC and network namespaces fresh, the host's root read-only, its seccomp \
         program, resource limits of single processes (no user namespace for root; no cgroups; no \
         limit on real time: with --timeout it checks only every second whether the program has \
         ended)",
    )
}

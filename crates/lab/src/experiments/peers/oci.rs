//! crun and runc, which run bundles of the Open Container Initiative.

use super::{PreparedPeer, system, tried};
use crate::{Error, Lab};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Prepares crun without cgroups.
pub fn crun(lab: &Lab, path: &Path) -> Result<PreparedPeer, Error> {
    let bundle = bundle(lab, "crun")?;
    let (path, mut number) = (path.to_owned(), 0u32);
    let root = lab.directory().join("crun-state");
    let make = move || {
        number += 1;
        let mut command = Command::new(&path);
        command
            .env_clear()
            .arg("--root")
            .arg(&root)
            .args(["--cgroup-manager=disabled", "run", "--bundle"])
            .arg(&bundle);
        command.arg(format!("millibox-lab-{}-{number}", std::process::id()));
        command
    };
    tried(
        make,
        "PID, mount, IPC, UTS and network namespaces fresh, binds read-only, tmpfs, no \
         capabilities, resource limits of single processes (cgroups disabled; no user namespace; \
         no seccomp program)",
    )
}

/// Prepares runc, which creates its cgroups at the top of each hierarchy and removes them.
pub fn runc(lab: &Lab, path: &Path) -> Result<PreparedPeer, Error> {
    if !lab.machine().root {
        return Err(Error::other("runc creates cgroups, which needs root here"));
    }
    let bundle = bundle(lab, "runc")?;
    let (path, mut number) = (path.to_owned(), 0u32);
    let root = lab.directory().join("runc-state");
    let made = std::rc::Rc::new(RuncCgroups);
    let make = move || {
        let _ = &made;
        number += 1;
        let mut command = Command::new(&path);
        command
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command
            .arg("--root")
            .arg(&root)
            .args(["run", "--bundle"])
            .arg(&bundle);
        command.arg(format!("millibox-lab-{}-{number}", std::process::id()));
        command
    };
    tried(
        make,
        "PID, mount, IPC, UTS and network namespaces fresh, binds read-only, tmpfs, no \
         capabilities, a cgroup with limits on memory and processes (no user namespace; no seccomp \
         program)",
    )
}

/// The cgroup directories that runc leaves. When this value is dropped, empty directories are
/// removed.
struct RuncCgroups;

impl Drop for RuncCgroups {
    fn drop(&mut self) {
        super::remove_cgroups(&super::cgroups_of("runc"), &["run", ""]);
    }
}

/// Creates a bundle: a directory with config.json and an empty root.
fn bundle(lab: &Lab, name: &str) -> Result<PathBuf, Error> {
    let bundle = lab.directory().join(format!("bundle-{name}"));
    let made = |what: &Path| {
        std::fs::create_dir_all(what).map_err(Error::system(format!("make {}", what.display())))
    };
    made(&bundle.join("rootfs"))?;
    let mut mounts = vec![
        json!({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs",
               "options": ["nosuid", "nodev", "size=64m"]}),
        json!({"destination": "/proc", "type": "proc", "source": "proc"}),
        json!({"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
               "options": ["nosuid", "mode=755", "size=64k"]}),
    ];
    for place in ["tmp", "proc", "dev"] {
        made(&bundle.join("rootfs").join(place))?;
    }
    for (place, link) in system() {
        let inside = bundle
            .join("rootfs")
            .join(place.strip_prefix("/").unwrap_or(&place));
        match link {
            Some(target) => std::os::unix::fs::symlink(&target, &inside)
                .map_err(Error::system(format!("make {}", inside.display())))?,
            None => {
                made(&inside)?;
                mounts.push(
                    json!({"destination": place, "type": "bind", "source": place,
                           "options": ["rbind", "ro", "nosuid", "nodev"]}),
                );
            }
        }
    }
    let path = bundle.join("config.json");
    let words = configuration(&mounts).to_string();
    std::fs::write(&path, words).map_err(Error::system(format!("write {}", path.display())))?;
    Ok(bundle)
}

fn configuration(mounts: &[Value]) -> Value {
    let namespaces = ["pid", "network", "ipc", "uts", "mount"].map(|kind| json!({"type": kind}));
    let none: [&str; 0] = [];
    let capabilities = json!({"bounding": none, "effective": none, "permitted": none});
    json!({
        "ociVersion": "1.0.0",
        "process": {
            "terminal": false,
            "user": {"uid": 60578, "gid": 60578},
            "args": ["/bin/true"],
            "env": ["PATH=/usr/bin:/bin"],
            "cwd": "/",
            "capabilities": capabilities,
            "rlimits": [{"type": "RLIMIT_CPU", "hard": 10, "soft": 10}],
            "noNewPrivileges": true,
        },
        "root": {"path": "rootfs", "readonly": true},
        "mounts": mounts,
        "linux": {
            "cgroupsPath": format!("/{}/run", super::cgroups_of("runc")),
            "namespaces": namespaces,
            "resources": {"memory": {"limit": 268_435_456}, "pids": {"limit": 16}},
        },
    })
}

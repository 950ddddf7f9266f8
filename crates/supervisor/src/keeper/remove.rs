//! Removes cgroups: those of this keeper at its end, and those of supervisors that died with their
//! keepers.

use crate::messages::complain;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// The beginning of the names of all directories that millibox creates among cgroups.
pub const PREFIX: &str = "millibox-";

/// The time for which dying processes may keep a cgroup busy.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Removes a cgroup and the cgroups below it. Returns whether it no longer exists; it stays if it
/// still has processes (EBUSY).
fn remove(path: &str) -> bool {
    let removed = || matches!(rustix::fs::rmdir(path), Ok(()) | Err(Errno::NOENT));
    // Most cgroups have no children, and listing takes longer than removing.
    if removed() {
        return true;
    }
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path().to_string_lossy());
        }
    }
    removed()
}

/// Removes cgroups and waits for their dying processes. The timeout covers all of them together.
pub fn remove_waiting<'a>(paths: impl IntoIterator<Item = &'a str>) {
    let begin = Instant::now();
    for path in paths {
        let mut pause = Duration::from_micros(200);
        while !remove(path) {
            if begin.elapsed() > BUSY_TIMEOUT {
                complain(format_args!(
                    "cannot remove the cgroup {path}: it is still in use"
                ));
                break;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

/// Removes the cgroups of supervisors that have died without cleaning up: directories of millibox
/// that no process has locked.
pub fn sweep_orphans(parent: &str) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let path = entry.path().to_string_lossy().into_owned();
        if let Ok(_lock) = lock(&path, FlockOperation::NonBlockingLockExclusive) {
            remove(&path);
        }
    }
}

/// Opens a directory and locks it. Also returns ENOENT if the directory was removed before it was
/// locked, and perhaps created again, because the lock must be on the current directory.
pub fn lock(path: &str, how: FlockOperation) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(path, flags, Mode::empty())?;
    rustix::fs::flock(&directory, how)?;
    let (locked, there) = (rustix::fs::fstat(&directory)?, rustix::fs::stat(path)?);
    if (locked.st_dev, locked.st_ino) == (there.st_dev, there.st_ino) {
        Ok(directory)
    } else {
        Err(Errno::NOENT)
    }
}

/// Removes the cgroups of a dead keeper for its client.
pub fn sweep(paths: &[String]) {
    let is_ours = |path: &&str| {
        path.rsplit('/')
            .next()
            .is_some_and(|name| name.starts_with(PREFIX))
    };
    remove_waiting(paths.iter().map(String::as_str).filter(is_ours));
}

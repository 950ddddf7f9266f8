//! Removing cgroups: our own at the end, and those of supervisors that died with their
//! keepers.

use rustix::fs::{FlockOperation, Mode, OFlags};
use std::time::{Duration, Instant};

/// All our directories among cgroups begin so.
pub const PREFIX: &str = "millibox-";

/// How long processes that are being killed may keep a cgroup busy.
const PATIENCE: Duration = Duration::from_secs(5);

/// Removes a cgroup and those below it; true if it is gone. Fails on those that still
/// have processes (EBUSY).
fn remove(path: &str) -> bool {
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path().to_string_lossy());
        }
    }
    matches!(rustix::fs::rmdir(path), Ok(()) | Err(rustix::io::Errno::NOENT))
}

/// Removes a cgroup, waiting for processes that are about to be gone.
pub fn remove_patiently(path: &str) {
    let begin = Instant::now();
    let mut pause = Duration::from_micros(200);
    while !remove(path) {
        if begin.elapsed() > PATIENCE {
            eprintln!("millibox: cannot remove the cgroup {path}: it is still in use");
            return;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Removes the cgroups of supervisors that are gone and could not clean up: directories of
/// ours that nobody has locked.
pub fn sweep_orphans(parent: &str) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let path = entry.path().to_string_lossy().into_owned();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(directory) = rustix::fs::open(&path, flags, Mode::empty()) else { continue };
        if rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok() {
            remove(&path);
        }
    }
}

/// For a client whose keeper died: removes what it had made.
pub fn sweep(paths: &[String]) {
    for path in paths {
        let name = path.rsplit('/').next().unwrap_or("");
        if name.starts_with(PREFIX) {
            remove_patiently(path);
        }
    }
}

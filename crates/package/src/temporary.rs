//! Directories for temporary files.
//!
//! The process that creates a directory removes it. If SIGKILL or the OOM killer ends that process,
//! the next process that creates a directory removes the old one, whose name identifies its owner.
//! A process that ends without waiting for its threads calls [`end`]. The directories may contain
//! the secret tests of a contest.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Once, PoisonError, RwLock};
use std::time::Duration;
use tempfile::TempDir;

/// The prefix of the directories' names.
const PREFIX: &str = "millibox-judge-";
/// Number of times that [`end`] removes directories in which a thread or a program may still create
/// files.
const REMOVALS: u32 = 40;
/// The pause between two removals.
const REMOVAL_PAUSE: Duration = Duration::from_millis(25);

/// Whether the process is ending. The lock is held while a directory is created.
static ENDS: RwLock<bool> = RwLock::new(false);

/// Creates a directory in the directory for temporary files (`TMPDIR`). Only this user may enter
/// the new directory. After [`end`], the calling thread waits for the end of the process.
///
/// # Errors
/// The directory cannot be created.
pub fn directory() -> io::Result<TempDir> {
    let ends = ENDS.read().unwrap_or_else(PoisonError::into_inner);
    if *ends {
        drop(ends);
        loop {
            std::thread::park();
        }
    }
    remove_stale();
    let parent = std::env::temp_dir();
    let owner = Owner::of("self");
    let prefix = owner.map_or_else(
        || PREFIX.to_owned(),
        |this| format!("{PREFIX}{}-{}-{}-", this.namespace, this.pid, this.start),
    );
    tempfile::Builder::new().prefix(&prefix).tempdir_in(parent)
}

/// Removes the directories of this user whose owners have ended. Only the first call of a process
/// does this.
pub fn remove_stale() {
    static SWEPT: Once = Once::new();
    SWEPT.call_once(|| {
        if let Some(this) = Owner::of("self") {
            remove(&std::env::temp_dir(), |owner| owner.is_gone(&this));
        }
    });
}

/// Removes the directories of this process, whose other threads may still use them. The process
/// creates no directory after this, and must exit soon.
pub fn end() {
    *ENDS.write().unwrap_or_else(PoisonError::into_inner) = true;
    let Some(this) = Owner::of("self") else {
        return;
    };
    for _ in 0..REMOVALS {
        if remove(&std::env::temp_dir(), |owner| *owner == this) {
            return;
        }
        std::thread::sleep(REMOVAL_PAUSE);
    }
}

/// A process. The fields identify it among all processes since the host was started.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Owner {
    /// The inode number of the PID namespace of the process id (pid_namespaces(7)).
    namespace: u64,
    pid: u32,
    /// The start time in ticks (proc_pid_stat(5), `starttime`).
    start: u64,
}

impl Owner {
    /// Reads a process of this PID namespace from /proc. Returns `None` if the process is not
    /// visible.
    fn of(process: &str) -> Option<Owner> {
        let namespace = fs::metadata("/proc/self/ns/pid").ok()?.ino();
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let pid = stat.split(' ').next()?.parse().ok()?;
        // The process name in brackets may contain any characters.
        let start = stat
            .rsplit(')')
            .next()?
            .split_whitespace()
            .nth(19)?
            .parse()
            .ok()?;
        Some(Owner {
            namespace,
            pid,
            start,
        })
    }

    /// Returns the process that owns a directory with this name.
    fn of_name(name: &str) -> Option<Owner> {
        let mut numbers = name.strip_prefix(PREFIX)?.split('-');
        let mut next = || numbers.next()?.parse::<u64>().ok();
        let (namespace, pid, start) = (next()?, next()?.try_into().ok()?, next()?);
        // The last part makes the name unique.
        numbers.next().filter(|rest| !rest.is_empty())?;
        Some(Owner {
            namespace,
            pid,
            start,
        })
    }

    /// Whether the process has certainly ended. Processes of other PID namespaces, such as
    /// containers that share the directory, are not visible and count as running.
    fn is_gone(&self, this: &Owner) -> bool {
        self.namespace == this.namespace
            && Owner::of(&self.pid.to_string()).is_none_or(|now| now.start != self.start)
    }
}

/// Removes this user's directories whose owners are chosen. Returns false if one still exists.
fn remove(parent: &Path, is_chosen: impl Fn(&Owner) -> bool) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let mut is_complete = true;
    // This user's processes are visible even if others are hidden (proc(5), hidepid).
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_chosen = entry
            .file_name()
            .to_str()
            .and_then(Owner::of_name)
            .is_some_and(|owner| is_chosen(&owner));
        if is_chosen
            && entry
                .metadata()
                .is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == user)
        {
            let _ = fs::remove_dir_all(entry.path());
            is_complete &= !entry.path().exists();
        }
    }
    is_complete
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_directory_identifies_owner() {
        let directory = directory().expect("the directory can be created");
        let name = directory
            .path()
            .file_name()
            .and_then(|name| name.to_str())
            .expect("the name is UTF-8");
        let this = Owner::of("self").expect("this process is visible");
        assert_eq!(this.pid, std::process::id());
        assert_eq!(Owner::of_name(name), Some(this));
        for other in [
            "millibox-judge-1-2-3",
            "millibox-judge-1-2-3-",
            "millibox-judge-abc",
            "millibox-judge-1-2-x-y",
            "x",
        ] {
            assert_eq!(Owner::of_name(other), None, "{other}");
        }
    }

    #[test]
    fn directories_of_dead_processes_are_removed() {
        let parent = tempfile::tempdir().expect("the directory can be created");
        let this = Owner::of("self").expect("this process is visible");
        let mut child = std::process::Command::new("sleep")
            .arg("100")
            .spawn()
            .expect("sleep starts");
        let alive = Owner::of(&child.id().to_string()).expect("the child is visible");
        let make = |owner: &Owner| {
            let path = parent.path().join(format!(
                "{PREFIX}{}-{}-{}-abc",
                owner.namespace, owner.pid, owner.start
            ));
            fs::create_dir_all(path.join("data/secret")).expect("the directory can be created");
            path
        };
        let of_child = make(&alive);
        let of_other_namespace = make(&Owner {
            namespace: alive.namespace + 1,
            ..alive.clone()
        });
        let of_reused_pid = make(&Owner {
            start: alive.start - 1,
            ..alive.clone()
        });
        let of_this = make(&this);
        let file = parent.path().join(format!(
            "{PREFIX}{}-{}-{}-file",
            this.namespace, alive.pid, 1
        ));
        fs::write(&file, "").expect("the file can be written");
        assert!(remove(parent.path(), |owner| owner.is_gone(&this)));
        assert!(
            of_child.exists()
                && of_other_namespace.exists()
                && of_this.exists()
                && file.exists()
                && !of_reused_pid.exists()
        );
        child.kill().expect("the child can be killed");
        child.wait().expect("the child ends");
        assert!(remove(parent.path(), |owner| owner.is_gone(&this)));
        assert!(!of_child.exists() && of_other_namespace.exists() && of_this.exists());
        assert!(remove(parent.path(), |owner| *owner == this));
        assert!(of_other_namespace.exists() && !of_this.exists());
    }
}

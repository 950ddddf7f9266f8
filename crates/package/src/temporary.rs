//! Directories for temporary files.
//!
//! The process that creates a directory removes it, unless it is killed (SIGKILL, or for want of
//! memory). Then the process that creates the next one does: the name of a directory tells which
//! process it belongs to. The directories may contain the secret tests of a contest.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Once;
use tempfile::TempDir;

/// The prefix of the names.
const PREFIX: &str = "millibox-judge-";

/// Creates a directory in the directory for temporary files (`TMPDIR`). Only this user may enter
/// it.
///
/// # Errors
/// It cannot be created.
pub fn directory() -> io::Result<TempDir> {
    static SWEPT: Once = Once::new();
    let parent = std::env::temp_dir();
    let owner = Owner::of("self");
    if let Some(us) = &owner {
        SWEPT.call_once(|| sweep(&parent, us));
    }
    let prefix = owner.map_or_else(
        || PREFIX.to_owned(),
        |us| format!("{PREFIX}{}-{}-{}-", us.namespace, us.pid, us.start),
    );
    tempfile::Builder::new().prefix(&prefix).tempdir_in(parent)
}

/// A process, identified among all processes since the host was started.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Owner {
    /// The inode number of the PID namespace of the process id (pid_namespaces(7)).
    namespace: u64,
    pid: u32,
    /// Its start time in ticks (proc_pid_stat(5), `starttime`).
    start: u64,
}

impl Owner {
    /// A process of this PID namespace as /proc describes it. `None` if it is not visible.
    fn of(process: &str) -> Option<Owner> {
        let namespace = fs::metadata("/proc/self/ns/pid").ok()?.ino();
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let pid = stat.split(' ').next()?.parse().ok()?;
        // The name before it, in brackets, may contain any characters.
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

    /// The process that a directory with this name belongs to.
    fn of_name(name: &str) -> Option<Owner> {
        let mut numbers = name.strip_prefix(PREFIX)?.split('-');
        let mut next = || numbers.next()?.parse::<u64>().ok();
        let (namespace, pid, start) = (next()?, next()?.try_into().ok()?, next()?);
        // This part makes the name unique.
        numbers.next().filter(|rest| !rest.is_empty())?;
        Some(Owner {
            namespace,
            pid,
            start,
        })
    }

    /// Whether it has certainly ended. Nothing is known about processes of other PID namespaces,
    /// such as containers that share the directory.
    fn is_gone(&self, us: &Owner) -> bool {
        self.namespace == us.namespace
            && Owner::of(&self.pid.to_string()).is_none_or(|now| now.start != self.start)
    }
}

/// Removes directories of this user whose processes have ended.
fn sweep(parent: &Path, us: &Owner) {
    let user = rustix::process::geteuid().as_raw();
    // This user's processes are visible even where others are hidden (proc(5), hidepid).
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_stale = entry
            .file_name()
            .to_str()
            .and_then(Owner::of_name)
            .is_some_and(|owner| owner.is_gone(us));
        if is_stale
            && entry
                .metadata()
                .is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == user)
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whose_it_is() {
        let directory = directory().expect("a directory");
        let name = directory
            .path()
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a name");
        let us = Owner::of("self").expect("us");
        assert_eq!(us.pid, std::process::id());
        assert_eq!(Owner::of_name(name), Some(us));
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
    fn what_the_dead_left_is_taken_away_and_nothing_else() {
        let parent = tempfile::tempdir().expect("a directory");
        let us = Owner::of("self").expect("us");
        let mut child = std::process::Command::new("sleep")
            .arg("100")
            .spawn()
            .expect("sleep");
        let alive = Owner::of(&child.id().to_string()).expect("it");
        let make = |owner: &Owner| {
            let path = parent.path().join(format!(
                "{PREFIX}{}-{}-{}-abc",
                owner.namespace, owner.pid, owner.start
            ));
            fs::create_dir_all(path.join("data/secret")).expect("a directory");
            path
        };
        let theirs = make(&alive);
        let foreign = make(&Owner {
            namespace: alive.namespace + 1,
            ..alive.clone()
        });
        let earlier = make(&Owner {
            start: alive.start - 1,
            ..alive.clone()
        });
        let ours = make(&us);
        let file = parent
            .path()
            .join(format!("{PREFIX}{}-{}-{}-file", us.namespace, alive.pid, 1));
        fs::write(&file, "").expect("a file");
        sweep(parent.path(), &us);
        assert!(
            theirs.exists()
                && foreign.exists()
                && ours.exists()
                && file.exists()
                && !earlier.exists()
        );
        child.kill().expect("a kill");
        child.wait().expect("its end");
        sweep(parent.path(), &us);
        assert!(!theirs.exists() && foreign.exists() && ours.exists());
    }
}

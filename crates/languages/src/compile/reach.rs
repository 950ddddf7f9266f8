//! Finds directories that the sandbox's user may not enter.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file or directory that a user may not enter or execute.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} (mode {mode:o}) is not accessible to user {user}", .path.display())]
#[non_exhaustive]
pub struct ClosedPath {
    /// The file or directory.
    pub path: PathBuf,
    /// Its permission bits.
    pub mode: u32,
    /// The user id.
    pub user: u32,
}

/// Returns the first part of a path that a user may not enter or execute, according to the modes.
pub(super) fn find_closed(path: &Path, (uid, gid): (u32, u32)) -> Option<ClosedPath> {
    let mut parts: Vec<&Path> = path.ancestors().collect();
    parts.reverse();
    parts.into_iter().find_map(|part| {
        let metadata = part.metadata().ok()?;
        let shift = if metadata.uid() == uid {
            6
        } else if metadata.gid() == gid {
            3
        } else {
            0
        };
        let closed = metadata.mode() >> shift & 1 == 0;
        closed.then(|| ClosedPath {
            path: part.to_owned(),
            mode: metadata.mode() & 0o7777,
            user: uid,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn find_closed_returns_closed_directory() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap()
        };
        mode(directory.path(), 0o755);
        mode(&inner, 0o700);
        let owner = directory.path().metadata().unwrap().uid();
        let stranger = (owner + 1, u32::MAX);
        let closed = ClosedPath {
            path: inner.clone(),
            mode: 0o700,
            user: stranger.0,
        };
        assert_eq!(find_closed(&inner, stranger), Some(closed));
        assert_eq!(find_closed(&inner, (owner, u32::MAX)), None);
        mode(&inner, 0o711);
        assert_eq!(find_closed(&inner, stranger), None);
    }
}

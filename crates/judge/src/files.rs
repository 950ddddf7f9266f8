//! Files on their way between the host and the sandbox: sources, products.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use tempfile::TempDir;

/// A regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    /// Relative, without `.` and `..`.
    pub(crate) name: PathBuf,
    pub(crate) executable: bool,
    pub(crate) bytes: Vec<u8>,
}

/// Whether the path names something below the directory it is taken from.
pub(crate) fn stays_below(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// A new directory with these files, which the sandbox's user can read and nobody but us can write.
///
/// `ids` are the user and group of the sandbox. Started by root it is another user than we are: then
/// the files belong to its group. Nobody else on the host can read them.
pub(crate) fn directory(files: &[File], ids: (u32, u32)) -> io::Result<TempDir> {
    let directory = millibox_package::temporary::directory()?;
    let reader = Reader { group: (directory.path().metadata()?.uid() != ids.0).then_some(ids.1) };
    for file in files {
        if !stays_below(&file.name) {
            return Err(io::Error::other(format!("{:?} is no name of a file", file.name)));
        }
        let path = directory.path().join(&file.name);
        let mut above = directory.path().to_owned();
        for part in file.name.parent().unwrap_or(Path::new("")).components() {
            above.push(part);
            if !above.is_dir() {
                std::fs::create_dir(&above)?;
                reader.allow(&above, true)?;
            }
        }
        std::fs::write(&path, &file.bytes)?;
        reader.allow(&path, file.executable)?;
    }
    reader.allow(directory.path(), true)?;
    Ok(directory)
}

struct Reader {
    /// Whose read permission it is; none: our own.
    group: Option<u32>,
}

impl Reader {
    /// Sets group and mode, whatever the umask is.
    fn allow(&self, path: &Path, execute: bool) -> io::Result<()> {
        let own = if execute { 0o700 } else { 0o600 };
        let mode = match self.group {
            Some(group) => {
                std::os::unix::fs::chown(path, None, Some(group))?;
                own | if execute { 0o050 } else { 0o040 }
            }
            None => own,
        };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_below() {
        for (path, below) in
            [("a", true), ("a/b.c", true), ("", false), ("/a", false), ("a/../b", false), ("..", false)]
        {
            assert_eq!(stays_below(Path::new(path)), below, "{path}");
        }
    }

    #[test]
    fn a_directory_has_the_files_with_their_modes() {
        let file = |name: &str, executable| File { name: name.into(), executable, bytes: name.as_bytes().to_vec() };
        let us = tempfile::tempdir().unwrap().path().metadata().unwrap();
        let made = directory(&[file("a", false), file("b/c/d", true)], (us.uid(), us.gid())).unwrap();
        let mode = |name: &str| made.path().join(name).metadata().unwrap().mode() & 0o7777;
        assert_eq!((mode("a"), mode("b"), mode("b/c"), mode("b/c/d"), mode(".")), (0o600, 0o700, 0o700, 0o700, 0o700));
        assert_eq!(std::fs::read(made.path().join("b/c/d")).unwrap(), b"b/c/d");
        assert!(directory(&[file("../a", false)], (us.uid(), us.gid())).is_err());
    }
}

//! Files on their way between the host and the sandbox: sources, products.
//!
//! Sources are small and kept in memory ([`File`]). What a compilation leaves may be hundreds of
//! MiB: it goes from the sandbox straight into files of the host ([`Store`]).

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
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

/// Bytes that a name may have. With the directory for temporary files before it, it must be a path.
const MAX_NAME_BYTES: usize = 1024;
/// Parts that a name may have: no more than a package's tree is deep, so that a test's files can be
/// put beside it.
const MAX_NAME_PARTS: usize = millibox_package::MAX_DEPTH;
/// Files and directories that may be stored in one directory.
pub const MAX_STORED_FILES: usize = 20_000;
const COPY_CHUNK_BYTES: usize = 128 << 10;

/// Why a file could not be stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// The name cannot be one of a file, or there are too many: the fault of whoever chose the
    /// names.
    #[error("{name:?} {why}")]
    Name { name: PathBuf, why: String },
    /// The files have more bytes than they may have.
    #[error("more than {0} bytes")]
    TooLarge(u64),
    /// The content could not be read from where it comes from.
    #[error(transparent)]
    Source(io::Error),
    /// The host's file system failed.
    #[error("cannot write to {}: {error}; set TMPDIR to a directory with room", std::env::temp_dir().display())]
    Host { error: io::Error },
}

fn host(error: io::Error) -> StoreError {
    StoreError::Host { error }
}

/// A regular file in a [`StoredFiles`] directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredFile {
    /// Relative, without `.` and `..`.
    pub(crate) name: PathBuf,
    pub(crate) executable: bool,
    pub(crate) length: u64,
}

/// Files on the host that the sandbox can read. They are removed when this is dropped.
#[derive(Debug)]
pub(crate) struct StoredFiles {
    pub(crate) directory: TempDir,
    pub(crate) files: Vec<StoredFile>,
}

impl StoredFiles {
    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.length).sum()
    }

    /// Whether there is an executable file of this name.
    pub(crate) fn has_executable(&self, name: &Path) -> bool {
        self.files
            .iter()
            .any(|file| file.executable && file.name == name)
    }
}

/// Fills a new directory with files whose names and contents are not trusted.
///
/// Only this process writes below the directory, and it writes neither through links nor over files
/// that are there.
pub(crate) struct Store {
    stored: StoredFiles,
    access: ReadAccess,
    /// What has been made, and whether it is a directory.
    made: HashMap<PathBuf, bool>,
}

impl Store {
    /// A new directory, which the sandbox's user can read and only this user can write to.
    ///
    /// `ids` are the user and group of the sandbox. Started by root, the sandbox has another user:
    /// then the files belong to the sandbox's group. No other user of the host can read them.
    pub(crate) fn new(ids: (u32, u32)) -> Result<Store, StoreError> {
        let directory = millibox_package::temporary::directory().map_err(host)?;
        let owner = directory.path().metadata().map_err(host)?.uid();
        let access = ReadAccess {
            group: (owner != ids.0).then_some(ids.1),
        };
        access.allow(directory.path(), true).map_err(host)?;
        Ok(Store {
            stored: StoredFiles {
                directory,
                files: Vec::new(),
            },
            access,
            made: HashMap::new(),
        })
    }

    /// Stores one file; `most` is the number of bytes that it may have. Returns how many it has.
    pub(crate) fn add(
        &mut self,
        name: &Path,
        executable: bool,
        from: &mut dyn Read,
        most: u64,
    ) -> Result<u64, StoreError> {
        let mut to = self.create(name)?;
        let mut chunk = vec![0; COPY_CHUNK_BYTES];
        let mut length: u64 = 0;
        loop {
            let read = match from.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(StoreError::Source(error)),
            };
            length += read as u64;
            if length > most {
                return Err(StoreError::TooLarge(most));
            }
            to.write_all(&chunk[..read]).map_err(host)?;
        }
        self.access
            .allow(&self.stored.directory.path().join(name), executable)
            .map_err(host)?;
        self.stored.files.push(StoredFile {
            name: name.to_owned(),
            executable,
            length,
        });
        Ok(length)
    }

    /// Stores a copy of a file that was stored before; `None`: there is none of this name.
    pub(crate) fn add_copy(
        &mut self,
        name: &Path,
        of: &Path,
        most: u64,
    ) -> Result<Option<u64>, StoreError> {
        if self.made.get(of) != Some(&false) {
            return Ok(None);
        }
        let original = self.stored.directory.path().join(of);
        let executable = original.metadata().map_err(host)?.mode() & 0o100 != 0;
        let mut from = std::fs::File::open(&original).map_err(host)?;
        self.add(name, executable, &mut from, most).map(Some)
    }

    /// Stores files that are in memory.
    pub(crate) fn add_all(&mut self, files: &[File]) -> Result<(), StoreError> {
        for file in files {
            self.add(&file.name, file.executable, &mut &file.bytes[..], u64::MAX)?;
        }
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        self.stored.directory.path()
    }

    pub(crate) fn finish(self) -> StoredFiles {
        self.stored
    }

    fn create(&mut self, name: &Path) -> Result<std::fs::File, StoreError> {
        let wrong = |why: String| StoreError::Name {
            name: name.to_owned(),
            why,
        };
        if !stays_below(name) {
            return Err(wrong("is no name of a file".to_owned()));
        }
        let (bytes, parts) = (name.as_os_str().len(), name.components().count());
        if bytes > MAX_NAME_BYTES || parts > MAX_NAME_PARTS {
            let most =
                format!("at most {MAX_NAME_BYTES} bytes in {MAX_NAME_PARTS} parts are allowed");
            return Err(StoreError::Name {
                name: beginning(name),
                why: format!("is too long a name: {most}"),
            });
        }
        let failed = |error: io::Error| match is_about_name(&error) {
            true => wrong(format!("cannot be stored: {error}")),
            false => host(error),
        };
        let root = self.stored.directory.path();
        let mut above = PathBuf::new();
        for part in name.parent().unwrap_or(Path::new("")).components() {
            above.push(part);
            match self.made.get(&above) {
                Some(true) => continue,
                Some(false) => {
                    return Err(wrong(
                        "lies below a file, as if that were a directory".to_owned(),
                    ));
                }
                None => {}
            }
            count(&mut self.made, &above, true)?;
            let path = root.join(&above);
            std::fs::create_dir(&path).map_err(failed)?;
            self.access.allow(&path, true).map_err(host)?;
        }
        if self.made.contains_key(name) {
            return Err(wrong(
                "is the name of two files, or of a file and a directory".to_owned(),
            ));
        }
        count(&mut self.made, name, false)?;
        std::fs::File::create_new(root.join(name)).map_err(failed)
    }
}

fn count(
    made: &mut HashMap<PathBuf, bool>,
    name: &Path,
    is_directory: bool,
) -> Result<(), StoreError> {
    if made.len() >= MAX_STORED_FILES {
        let why = format!(
            "is one too many: at most {MAX_STORED_FILES} files and directories are allowed"
        );
        return Err(StoreError::Name {
            name: beginning(name),
            why,
        });
    }
    made.insert(name.to_owned(), is_directory);
    Ok(())
}

/// Enough of a long name to recognise it.
fn beginning(name: &Path) -> PathBuf {
    let bytes = name.as_os_str().as_bytes();
    PathBuf::from(OsStr::from_bytes(&bytes[..bytes.len().min(100)]))
}

/// Whether a file system refuses a name as such, rather than failing. What names are allowed
/// differs: some file systems want UTF-8, or take names that differ in case for the same.
fn is_about_name(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let about_name = [
        Errno::NAMETOOLONG,
        Errno::ILSEQ,
        Errno::INVAL,
        Errno::EXIST,
        Errno::NOTDIR,
        Errno::ISDIR,
        Errno::LOOP,
    ];
    // A name with a NUL is refused before the kernel sees it.
    error.kind() == io::ErrorKind::InvalidInput
        || error
            .raw_os_error()
            .is_some_and(|errno| about_name.contains(&Errno::from_raw_os_error(errno)))
}

/// Bytes that can be written to the directory for temporary files; 0 if it cannot be asked.
pub(crate) fn free_bytes() -> u64 {
    rustix::fs::statvfs(std::env::temp_dir())
        .map_or(0, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

struct ReadAccess {
    /// Whose read permission it is; none: our own.
    group: Option<u32>,
}

impl ReadAccess {
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

    fn store(files: &[File], ids: (u32, u32)) -> Result<StoredFiles, StoreError> {
        let mut store = Store::new(ids)?;
        store.add_all(files)?;
        Ok(store.finish())
    }

    #[test]
    fn names_stay_below() {
        for (path, below) in [
            ("a", true),
            ("a/b.c", true),
            ("", false),
            ("/a", false),
            ("a/../b", false),
            ("..", false),
        ] {
            assert_eq!(stays_below(Path::new(path)), below, "{path}");
        }
    }

    #[test]
    fn a_directory_has_the_files_with_their_modes() {
        let file = |name: &str, executable| File {
            name: name.into(),
            executable,
            bytes: name.as_bytes().to_vec(),
        };
        let us = tempfile::tempdir().unwrap().path().metadata().unwrap();
        let ids = (us.uid(), us.gid());
        let stored = store(&[file("a", false), file("b/c/d", true)], ids).unwrap();
        let made = &stored.directory;
        let mode = |name: &str| made.path().join(name).metadata().unwrap().mode() & 0o7777;
        assert_eq!(
            (mode("a"), mode("b"), mode("b/c"), mode("b/c/d"), mode(".")),
            (0o600, 0o700, 0o700, 0o700, 0o700)
        );
        assert_eq!(std::fs::read(made.path().join("b/c/d")).unwrap(), b"b/c/d");
        assert!(
            stored.has_executable(Path::new("b/c/d")) && !stored.has_executable(Path::new("a"))
        );
        assert_eq!(stored.bytes(), 6);
    }

    #[test]
    fn store_impossible_name_is_no_failure_of_the_host() {
        let us = tempfile::tempdir().unwrap().path().metadata().unwrap();
        let stored = |names: &[&str]| {
            let file = |name: &&str| File {
                name: name.into(),
                executable: false,
                bytes: Vec::new(),
            };
            store(
                &names.iter().map(file).collect::<Vec<_>>(),
                (us.uid(), us.gid()),
            )
        };
        let (long, deep, part) = (
            "d/".repeat(15) + &"x/".repeat(600) + "f",
            "d/".repeat(40) + "f",
            "x".repeat(256),
        );
        for names in [
            &["../a"][..],
            &["/a"],
            &[""],
            &["a", "a"],
            &["a", "a/b"],
            &["a/b", "a"],
            &[&long],
            &[&deep],
            &[&part],
            &["a\0b"],
        ] {
            let error = stored(names).unwrap_err();
            assert!(
                matches!(error, StoreError::Name { .. }),
                "{names:?}: {error}"
            );
        }
        stored(&["a\n", "-b", "{c}", "d\u{1b}[31m"]).unwrap();
        let many: Vec<String> = (0..MAX_STORED_FILES)
            .map(|number| format!("d/{number}"))
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(matches!(
            stored(&many).unwrap_err(),
            StoreError::Name { .. }
        ));
        stored(&many[2..]).unwrap();
    }

    #[test]
    fn store_counts_bytes_and_copies_files() {
        let us = tempfile::tempdir().unwrap().path().metadata().unwrap();
        let mut store = Store::new((us.uid(), us.gid())).unwrap();
        assert_eq!(
            store
                .add(Path::new("a"), true, &mut &b"xyz"[..], 3)
                .unwrap(),
            3
        );
        assert!(matches!(
            store.add(Path::new("b"), true, &mut &b"xyz"[..], 2),
            Err(StoreError::TooLarge(2))
        ));
        assert_eq!(
            store.add_copy(Path::new("d/c"), Path::new("a"), 3).unwrap(),
            Some(3)
        );
        assert_eq!(
            store.add_copy(Path::new("e"), Path::new("d"), 3).unwrap(),
            None
        );
        assert_eq!(
            store
                .add_copy(Path::new("e"), Path::new("nothing"), 3)
                .unwrap(),
            None
        );
        let stored = store.finish();
        assert_eq!(
            std::fs::read(stored.directory.path().join("d/c")).unwrap(),
            b"xyz"
        );
        assert!(stored.has_executable(Path::new("d/c")));
    }
}

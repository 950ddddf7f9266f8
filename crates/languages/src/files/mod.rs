//! Files that move between the host and the sandbox: sources and compiled programs.
//!
//! Sources are small and stay in memory ([`SourceFile`]). The product of a compilation may have
//! hundreds of MiB, so it goes directly from the sandbox to files of the host (`Store`).

mod error;

pub(crate) use error::StoreError;
pub use error::{HostError, MAX_STORED_FILES, NameFault};

use error::{MAX_NAME_BYTES, MAX_NAME_PARTS};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use tempfile::TempDir;

/// Number of bytes that are copied at a time.
const COPY_CHUNK_BYTES: usize = 128 << 10;
/// Number of bytes of a long name that a message shows.
const SHOWN_NAME_BYTES: usize = 100;

/// A source file in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceFile {
    /// Path relative to the directory of the sources, without `.` and `..`.
    pub name: PathBuf,
    /// Whether the file is executable. Build scripts must be executable.
    pub executable: bool,
    /// The content.
    pub bytes: Vec<u8>,
}

impl SourceFile {
    /// Returns a file that is not executable.
    pub fn new(name: impl Into<PathBuf>, bytes: impl Into<Vec<u8>>) -> SourceFile {
        SourceFile {
            name: name.into(),
            executable: false,
            bytes: bytes.into(),
        }
    }
}

/// Whether the path stays below the directory to which it is relative.
fn stays_below(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn host(error: io::Error) -> StoreError {
    HostError::new(error).into()
}

/// A regular file in a [`StoredFiles`] directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredFile {
    /// Relative path, without `.` and `..`.
    pub(crate) name: PathBuf,
    pub(crate) executable: bool,
    pub(crate) length: u64,
}

/// Files of the host that the sandbox can read. Dropping the value removes them.
#[derive(Debug)]
pub(crate) struct StoredFiles {
    pub(crate) directory: TempDir,
    pub(crate) files: Vec<StoredFile>,
}

impl StoredFiles {
    /// The total number of bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.length).sum()
    }

    /// Whether an executable file has this name.
    pub(crate) fn has_executable(&self, name: &Path) -> bool {
        self.files
            .iter()
            .any(|file| file.executable && file.name == name)
    }
}

/// Fills a new directory with files whose names and contents are not trusted.
///
/// Only this process writes to the directory. It neither follows links nor overwrites files.
pub(crate) struct Store {
    stored: StoredFiles,
    access: ReadAccess,
    /// The files and directories that were created, and whether each is a directory.
    made: HashMap<PathBuf, bool>,
}

impl Store {
    /// Creates a directory that the sandbox's user can read and only this user can write to.
    ///
    /// `ids` are the user id and group id of the sandbox. If root started the sandbox, the sandbox
    /// has another user, and the files belong to the sandbox's group. No other user of the host can
    /// read them.
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

    /// Stores a file of at most `max_bytes` bytes. Returns its length in bytes.
    pub(crate) fn add(
        &mut self,
        name: &Path,
        executable: bool,
        from: &mut dyn Read,
        max_bytes: u64,
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
            if length > max_bytes {
                return Err(StoreError::TooLarge(max_bytes));
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

    /// Stores a copy of a stored file of at most `max_bytes` bytes. Returns `None` if no stored
    /// file has the name `of`.
    pub(crate) fn add_copy(
        &mut self,
        name: &Path,
        of: &Path,
        max_bytes: u64,
    ) -> Result<Option<u64>, StoreError> {
        if self.made.get(of) != Some(&false) {
            return Ok(None);
        }
        let original = self.stored.directory.path().join(of);
        let executable = original.metadata().map_err(host)?.mode() & 0o100 != 0;
        let mut from = std::fs::File::open(&original).map_err(host)?;
        self.add(name, executable, &mut from, max_bytes).map(Some)
    }

    /// Stores files from memory.
    pub(crate) fn add_all(&mut self, files: &[SourceFile]) -> Result<(), StoreError> {
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
        let wrong = |fault: NameFault| StoreError::Name {
            name: name.to_owned(),
            fault,
        };
        if !stays_below(name) {
            return Err(wrong(NameFault::NotBelow));
        }
        if name.as_os_str().len() > MAX_NAME_BYTES || name.components().count() > MAX_NAME_PARTS {
            return Err(StoreError::Name {
                name: beginning(name),
                fault: NameFault::TooLong,
            });
        }
        let failed = |error: io::Error| match is_about_name(&error) {
            true => wrong(NameFault::Rejected(error.into())),
            false => host(error),
        };
        let root = self.stored.directory.path();
        let mut above = PathBuf::new();
        for part in name.parent().unwrap_or(Path::new("")).components() {
            above.push(part);
            match self.made.get(&above) {
                Some(true) => continue,
                Some(false) => {
                    return Err(wrong(NameFault::BelowFile));
                }
                None => {}
            }
            count(&mut self.made, &above, true)?;
            let path = root.join(&above);
            std::fs::create_dir(&path).map_err(failed)?;
            self.access.allow(&path, true).map_err(host)?;
        }
        if self.made.contains_key(name) {
            return Err(wrong(NameFault::Duplicate));
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
        return Err(StoreError::Name {
            name: beginning(name),
            fault: NameFault::TooMany,
        });
    }
    made.insert(name.to_owned(), is_directory);
    Ok(())
}

/// The beginning of a long name.
fn beginning(name: &Path) -> PathBuf {
    let bytes = name.as_os_str().as_bytes();
    PathBuf::from(OsStr::from_bytes(
        &bytes[..bytes.len().min(SHOWN_NAME_BYTES)],
    ))
}

/// Whether the error means that the file system rejects the name. Rules differ: some file systems
/// require UTF-8, and some ignore case.
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
    // The standard library rejects a name with NUL before the kernel sees it.
    error.kind() == io::ErrorKind::InvalidInput
        || error
            .raw_os_error()
            .is_some_and(|errno| about_name.contains(&Errno::from_raw_os_error(errno)))
}

/// Returns the free bytes on the disk of the directory for temporary files, or 0 if the number is
/// unknown.
pub(crate) fn free_bytes() -> u64 {
    rustix::fs::statvfs(std::env::temp_dir())
        .map_or(0, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

struct ReadAccess {
    /// The group that may read. `None` means that only the owner may read.
    group: Option<u32>,
}

impl ReadAccess {
    /// Sets group and mode, independently of the umask.
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

    fn store(files: &[SourceFile], ids: (u32, u32)) -> Result<StoredFiles, StoreError> {
        let mut store = Store::new(ids)?;
        store.add_all(files)?;
        Ok(store.finish())
    }

    #[test]
    fn stays_below_rejects_absolute_paths_and_parents() {
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
    fn stored_files_have_modes_for_their_reader() {
        let file = |name: &str, executable| SourceFile {
            name: name.into(),
            executable,
            bytes: name.as_bytes().to_vec(),
        };
        let own = tempfile::tempdir().unwrap().path().metadata().unwrap();
        let ids = (own.uid(), own.gid());
        let stored = store(&[file("a", false), file("b/c/d", true)], ids).unwrap();
        let directory = &stored.directory;
        let mode = |name: &str| directory.path().join(name).metadata().unwrap().mode() & 0o7777;
        assert_eq!(
            (mode("a"), mode("b"), mode("b/c"), mode("b/c/d"), mode(".")),
            (0o600, 0o700, 0o700, 0o700, 0o700)
        );
        assert_eq!(
            std::fs::read(directory.path().join("b/c/d")).unwrap(),
            b"b/c/d"
        );
        assert!(
            stored.has_executable(Path::new("b/c/d")) && !stored.has_executable(Path::new("a"))
        );
        assert_eq!(stored.bytes(), 6);
    }

    #[test]
    fn store_with_invalid_name_returns_name_error() {
        let own = tempfile::tempdir().unwrap().path().metadata().unwrap();
        let stored = |names: &[&str]| {
            let file = |name: &&str| SourceFile {
                name: name.into(),
                executable: false,
                bytes: Vec::new(),
            };
            store(
                &names.iter().map(file).collect::<Vec<_>>(),
                (own.uid(), own.gid()),
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
        let own = tempfile::tempdir().unwrap().path().metadata().unwrap();
        let mut store = Store::new((own.uid(), own.gid())).unwrap();
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

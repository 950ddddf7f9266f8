//! A package in a `.zip` or `.kpp` archive, unpacked into a temporary directory.

use crate::bound::{
    Bound, MAX_ARCHIVE_DEPTH, MAX_ARCHIVE_ENTRIES, MAX_ENTRIES, MAX_LINK_TARGET_BYTES,
    MAX_UNPACKED_BYTES,
};
use crate::fault::files::{ArchiveFault, FileFault};
use crate::fault::log::Log;
use crate::fault::text::Excerpt;
use crate::fault::{Fault, FaultKind};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use zip::ZipArchive;

/// Maximum length of a symbolic link's target.
const MAX_LINK_BYTES: u64 = 4096;

/// The directory of an unpacked archive. It is removed when the last reference to it is dropped.
#[derive(Debug)]
pub struct Unpacked {
    directory: TempDir,
    /// The directory's path without symbolic links.
    real: PathBuf,
    archive: PathBuf,
}

impl Unpacked {
    /// Returns the directory. Its name is random.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the archive, as the caller named it.
    pub fn archive(&self) -> &Path {
        &self.archive
    }

    /// Returns the path to show to a user: below the archive if the path is in the temporary
    /// directory.
    pub fn shown(&self, path: &Path) -> PathBuf {
        let below = path
            .strip_prefix(self.path())
            .or_else(|_| path.strip_prefix(&self.real));
        match below {
            Ok(below) if below.as_os_str().is_empty() => self.archive.clone(),
            Ok(below) => self.archive.join(below),
            Err(_) => path.to_owned(),
        }
    }

    /// Returns the same fault with its path below the archive.
    #[must_use]
    pub fn fault(&self, fault: Fault) -> Fault {
        Fault {
            path: self.shown(&fault.path),
            ..fault
        }
    }
}

/// Unpacks an archive. `None` means that unpacking failed and that the log contains the fault.
pub fn unpack(archive: &Path, log: &Log) -> Option<Unpacked> {
    let directory = unpack_at_most(archive, MAX_UNPACKED_BYTES, log)?;
    let path = directory.path();
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    Some(Unpacked {
        directory,
        real,
        archive: archive.to_owned(),
    })
}

fn unpack_at_most(archive: &Path, bytes: u64, log: &Log) -> Option<TempDir> {
    let unpacked = File::open(archive)
        .map_err(|error| Stop::Fault(FileFault::Unreadable(error.into()).into()))
        .and_then(|file| {
            let archive = ZipArchive::new(io::BufReader::new(file))
                .map_err(|error| ArchiveFault::NotZip(error.into()))?;
            let directory =
                directory().map_err(|error| ArchiveFault::TemporaryDirectory(error.into()))?;
            Unpacking {
                archive,
                directory: directory.path(),
                links: Vec::new(),
                link_bytes: 0,
                directories: 0,
                last: PathBuf::new(),
                left: bytes,
            }
            .all(log)?;
            Ok(directory)
        });
    match unpacked {
        Ok(directory) => Some(directory),
        Err(Stop::Fault(kind)) => {
            log.error("", kind);
            None
        }
        Err(Stop::Exceeds(bound)) => {
            log.exceeds("", bound);
            None
        }
    }
}

/// Why unpacking ended.
enum Stop {
    Fault(FaultKind),
    Exceeds(Bound),
}

impl From<ArchiveFault> for Stop {
    fn from(fault: ArchiveFault) -> Stop {
        Stop::Fault(fault.into())
    }
}

/// Creates the directory. If the process is root, the sandboxed programs belong to another user and
/// must be able to read the files.
fn directory() -> io::Result<TempDir> {
    let directory = crate::temporary::directory()?;
    if rustix::process::geteuid().is_root() {
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755))?;
    }
    Ok(directory)
}

struct Unpacking<'a> {
    archive: ZipArchive<io::BufReader<File>>,
    directory: &'a Path,
    /// Names and targets of the symbolic links. The links are created after everything else, so
    /// that no file can be written through them.
    links: Vec<(PathBuf, PathBuf)>,
    link_bytes: usize,
    /// Number of directories that were created.
    directories: usize,
    /// The directory of the last entry.
    last: PathBuf,
    /// Number of bytes that may still be written.
    left: u64,
}

impl Unpacking<'_> {
    fn all(&mut self, log: &Log) -> Result<(), Stop> {
        if self.archive.len() > MAX_ARCHIVE_ENTRIES {
            return Err(Stop::Exceeds(Bound::Archived));
        }
        if self.archive.has_duplicate_names() {
            log.error("", ArchiveFault::DuplicateNames);
        }
        for index in 0..self.archive.len() {
            self.entry(index, log)?;
        }
        for (name, target) in std::mem::take(&mut self.links) {
            // Links that lead outside are found when the files are listed.
            std::os::unix::fs::symlink(&target, self.directory.join(&name)).map_err(|error| {
                let name = Excerpt::from(name.display().to_string());
                let error = error.into();
                ArchiveFault::Link { name, error }
            })?;
        }
        Ok(())
    }

    /// Unpacks one entry. A fault of the entry is logged. An error ends the unpacking.
    fn entry(&mut self, index: usize, log: &Log) -> Result<(), Stop> {
        let mut entry = match self.archive.by_index(index) {
            Ok(entry) => entry,
            Err(error) => {
                let (number, error) = (index + 1, error.into());
                log.error("", ArchiveFault::EntryUnreadable { number, error });
                return Ok(());
            }
        };
        let (text, Some(name)) = (name(&entry), entry.name().ok().as_deref().and_then(inside))
        else {
            let name = name(&entry);
            let fault = if name.contains('\\') {
                ArchiveFault::EntryWithBackslash { name: name.into() }
            } else {
                ArchiveFault::EntryOutside { name: name.into() }
            };
            log.error("", fault);
            return Ok(());
        };
        let cannot = |error: io::Error| ArchiveFault::Entry {
            name: Excerpt::new(&text),
            error: error.into(),
        };
        let place = self.directory.join(&name);
        let parent = if entry.is_dir() {
            Some(&*name)
        } else {
            name.parent()
        };
        if let Some(parent) = parent.filter(|parent| **parent != self.last) {
            // The directories are created and counted one by one, because an entry of a few bytes
            // may require thousands of them.
            if parent.iter().count() > MAX_ARCHIVE_DEPTH {
                return Err(Stop::Exceeds(Bound::Directories));
            }
            let mut made = self.directory.to_owned();
            for part in parent {
                made.push(part);
                match fs::DirBuilder::new().mode(0o755).create(&made) {
                    Ok(()) => self.directories += 1,
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists && made.is_dir() => {
                    }
                    Err(error) => return Err(cannot(error).into()),
                }
                if self.directories > MAX_ENTRIES {
                    return Err(Stop::Exceeds(Bound::Directories));
                }
            }
            parent.clone_into(&mut self.last);
        }
        if entry.is_dir() {
            return Ok(());
        }
        if entry.is_symlink() {
            let mut target = String::new();
            entry
                .by_ref()
                .take(MAX_LINK_BYTES)
                .read_to_string(&mut target)
                .map_err(&cannot)?;
            if target.starts_with('/') {
                let (name, target) = (Excerpt::new(&text), Excerpt::from(target));
                log.error("", ArchiveFault::LinkOutside { name, target });
            } else {
                self.link_bytes += target.len();
                if self.link_bytes > MAX_LINK_TARGET_BYTES {
                    return Err(Stop::Exceeds(Bound::Links));
                }
                self.links.push((name, target.into()));
            }
            return Ok(());
        }
        let executable = entry.unix_mode().is_some_and(|mode| mode & 0o100 != 0);
        let mode = if executable { 0o755 } else { 0o644 };
        let file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&place);
        let mut file = file.map_err(&cannot)?;
        // Do not trust the size that the archive states; count the unpacked bytes.
        let written =
            io::copy(&mut entry.by_ref().take(self.left + 1), &mut file).map_err(cannot)?;
        if written > self.left {
            return Err(Stop::Exceeds(Bound::Unpacked));
        }
        self.left -= written;
        Ok(())
    }
}

/// The entry's name, for messages.
fn name<R: Read>(entry: &zip::read::ZipFile<'_, R>) -> String {
    String::from_utf8_lossy(entry.name_raw()).into_owned()
}

/// Returns the name as a path below the directory, or `None` if the path leads outside.
fn inside(name: &str) -> Option<PathBuf> {
    if name.starts_with('/') || name.contains(['\\', '\0']) {
        return None;
    }
    let mut path = PathBuf::new();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => return None,
            part => path.push(part),
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::write::{SimpleFileOptions, ZipWriter};

    #[test]
    fn unpack_with_more_bytes_than_allowed_exceeds_bound() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bomb.zip");
        let mut writer = ZipWriter::new(File::create(&path).unwrap());
        for name in ["a", "b"] {
            writer
                .start_file(name, SimpleFileOptions::default())
                .unwrap();
            writer.write_all(&[0; 1000]).unwrap();
        }
        writer.finish().unwrap();

        let log = Log::new(&path);
        assert!(unpack_at_most(&path, 2000, &log).is_some());
        assert!(log.finish().unwrap().is_empty());
        let log = Log::new(&path);
        assert!(unpack_at_most(&path, 1999, &log).is_none());
        let faults = log.finish().unwrap_err();
        assert_eq!(
            faults.iter().map(Fault::bound).collect::<Vec<_>>(),
            [Some(Bound::Unpacked)]
        );
    }
}

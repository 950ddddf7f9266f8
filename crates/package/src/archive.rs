//! A package in a `.zip` or `.kpp` archive, unpacked into a temporary directory.

use crate::bound::{Bound, DEEPEST_ARCHIVED, MOST_ARCHIVED, MOST_LINKS, MOST_UNPACKED};
use crate::fault::{Fault, Log};
use crate::tree::MOST_ENTRIES;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use zip::ZipArchive;

/// The most bytes of a symbolic link's target.
const LONGEST_LINK: u64 = 4096;

/// The directory of an unpacked archive. It is removed with its last user.
#[derive(Debug)]
pub struct Unpacked {
    directory: TempDir,
    archive: PathBuf,
}

impl Unpacked {
    /// The directory, whose name means nothing to people.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The archive, as the caller named it.
    pub fn archive(&self) -> &Path {
        &self.archive
    }

    /// The path below the archive, if it is in the directory, which is removed soon.
    pub fn shown(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(self.path()) {
            Ok(below) if below.as_os_str().is_empty() => self.archive.clone(),
            Ok(below) => self.archive.join(below),
            Err(_) => path.to_owned(),
        }
    }

    /// A text with the archive's name in place of the directory's.
    pub fn shown_in(&self, text: &str) -> String {
        text.replace(
            &*self.path().to_string_lossy(),
            &self.archive.to_string_lossy(),
        )
    }

    /// The same fault, placed below the archive.
    #[must_use]
    pub fn fault(&self, fault: Fault) -> Fault {
        Fault {
            path: self.shown(&fault.path),
            message: self.shown_in(&fault.message),
            ..fault
        }
    }
}

/// Unpacks an archive. `None` if that fails; the log names the reason.
pub fn unpack(archive: &Path, log: &Log) -> Option<Unpacked> {
    let directory = unpack_at_most(archive, MOST_UNPACKED, log)?;
    Some(Unpacked {
        directory,
        archive: archive.to_owned(),
    })
}

fn unpack_at_most(archive: &Path, bytes: u64, log: &Log) -> Option<TempDir> {
    let unpacked = File::open(archive)
        .map_err(|error| Stop::Wrong(format!("cannot be read: {error}")))
        .and_then(|file| {
            let archive = ZipArchive::new(io::BufReader::new(file))
                .map_err(|error| format!("neither a directory nor a zip archive: {error}"))?;
            let directory = directory()
                .map_err(|error| format!("no temporary directory to unpack it: {error}"))?;
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
        Err(Stop::Wrong(message)) => {
            log.error("", message);
            None
        }
        Err(Stop::Exceeds(bound)) => {
            log.exceeds("", bound);
            None
        }
    }
}

/// Why the unpacking ended.
enum Stop {
    Wrong(String),
    Exceeds(Bound),
}

impl From<String> for Stop {
    fn from(message: String) -> Stop {
        Stop::Wrong(message)
    }
}

/// Started by root, the programs of the sandbox belong to another user and must read the files.
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
    /// Names and targets of the symbolic links. They are created after everything else, so that
    /// nothing can be written through them.
    links: Vec<(PathBuf, PathBuf)>,
    link_bytes: usize,
    /// Directories that were created.
    directories: usize,
    /// The directory of the last entry.
    last: PathBuf,
    /// Bytes that may still be written.
    left: u64,
}

impl Unpacking<'_> {
    fn all(&mut self, log: &Log) -> Result<(), Stop> {
        if self.archive.len() > MOST_ARCHIVED {
            return Err(Stop::Exceeds(Bound::Archived));
        }
        if self.archive.has_duplicate_names() {
            log.error("", "the archive has two entries of one name; pack it anew");
        }
        for index in 0..self.archive.len() {
            self.entry(index, log)?;
        }
        for (name, target) in std::mem::take(&mut self.links) {
            // The listing of the files finds links that lead outside.
            std::os::unix::fs::symlink(&target, self.directory.join(&name)).map_err(|error| {
                format!(
                    "symbolic link {} cannot be unpacked: {error}",
                    name.display()
                )
            })?;
        }
        Ok(())
    }

    /// Unpacks one entry. A fault of the entry goes to the log; an error ends the unpacking.
    fn entry(&mut self, index: usize, log: &Log) -> Result<(), Stop> {
        let mut entry = match self.archive.by_index(index) {
            Ok(entry) => entry,
            Err(error) => {
                log.error(
                    "",
                    format!(
                        "entry {} of the archive cannot be unpacked: {error}",
                        index + 1
                    ),
                );
                return Ok(());
            }
        };
        let (text, Some(name)) = (name(&entry), entry.name().ok().as_deref().and_then(inside))
        else {
            let why = if name(&entry).contains('\\') {
                "leads outside, or has \\ where / belongs"
            } else {
                "leads outside"
            };
            log.error(
                "",
                format!(
                    "the archive has an entry {:?}, which {why}; pack it anew",
                    name(&entry)
                ),
            );
            return Ok(());
        };
        let cannot =
            |error: &dyn std::fmt::Display| format!("{text:?} cannot be unpacked: {error}");
        let place = self.directory.join(&name);
        let parent = if entry.is_dir() {
            Some(&*name)
        } else {
            name.parent()
        };
        if let Some(parent) = parent.filter(|parent| **parent != self.last) {
            // One after the other, because an entry of a few bytes may require thousands of
            // directories.
            if parent.iter().count() > DEEPEST_ARCHIVED {
                return Err(Stop::Exceeds(Bound::Directories));
            }
            let mut made = self.directory.to_owned();
            for part in parent {
                made.push(part);
                match fs::DirBuilder::new().mode(0o755).create(&made) {
                    Ok(()) => self.directories += 1,
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists && made.is_dir() => {
                    }
                    Err(error) => return Err(cannot(&error).into()),
                }
                if self.directories > MOST_ENTRIES {
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
                .take(LONGEST_LINK)
                .read_to_string(&mut target)
                .map_err(|error| cannot(&error))?;
            if target.starts_with('/') {
                log.error("", format!("the archive has a symbolic link {text:?} to {target:?}, which leads outside"));
            } else {
                self.link_bytes += target.len();
                if self.link_bytes > MOST_LINKS {
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
        let mut file = file.map_err(|error| cannot(&error))?;
        // The size that the archive states is not trusted; the unpacked bytes are counted.
        let written = io::copy(&mut entry.by_ref().take(self.left + 1), &mut file)
            .map_err(|error| cannot(&error))?;
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

/// The name as a path below the directory; `None` if it is not one.
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
    fn what_comes_out_is_counted() {
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
            faults.iter().map(|fault| fault.bound).collect::<Vec<_>>(),
            [Some(Bound::Unpacked)]
        );
    }
}

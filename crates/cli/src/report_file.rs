//! Files of `--report`.

use crate::failure::{Failure, open_since_the_start};
use crate::signals;
use rustix::fs::{Access, AtFlags, CWD, FileType, fstat};
use rustix::io::fcntl_dupfd_cloexec;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Symbolic links that are followed to a file, as in path_resolution(7).
const MAX_LINKS: usize = 40;

/// Open before the run, so that a path that cannot be written is no surprise after it.
pub struct ReportFile {
    path: PathBuf,
    place: Place,
    /// Taken when it is written.
    target: Option<Target>,
}

/// Where a report goes, however it is spelt.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Stdout,
    Stderr,
    Path(PathBuf),
}

impl Place {
    fn of(path: &Path) -> Place {
        match path.to_str() {
            Some("-" | "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1") => Place::Stdout,
            Some("/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2") => Place::Stderr,
            _ => Place::Path(real(path).unwrap_or_else(|_| path.to_owned())),
        }
    }
}

/// A regular file that is read, written or replaced, there or not yet, however it is spelt.
#[derive(Debug, PartialEq, Eq)]
pub enum Spot {
    /// Device and inode.
    There(u64, u64),
    NotYet(PathBuf),
}

impl Spot {
    /// Where a path leads; none if that is no regular file.
    pub fn of(path: &Path) -> Option<Spot> {
        match path.metadata() {
            Ok(found) => found
                .is_file()
                .then(|| Spot::There(found.dev(), found.ino())),
            Err(_) => real(path).ok().map(Spot::NotYet),
        }
    }

    /// What is open; none if it is no regular file.
    pub fn of_open(file: impl AsFd) -> Option<Spot> {
        let found = fstat(file).ok()?;
        (FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
            .then_some(Spot::There(found.st_dev, found.st_ino))
    }
}

enum Target {
    /// A regular file: whoever reads it finds the old content or the whole new one.
    Replace(NamedTempFile, PathBuf),
    /// A pipe, a terminal, a device.
    Write(File),
}

impl ReportFile {
    /// Makes sure that it can be written.
    pub fn open(path: &Path) -> Result<ReportFile, Failure> {
        let place = Place::of(path);
        let target = Target::open(path, &place).map_err(|error| {
            Failure::option(format!(
                "--report {}: cannot be written: {error}",
                path.display()
            ))
        })?;
        Ok(ReportFile {
            path: path.to_owned(),
            place,
            target: Some(target),
        })
    }

    /// As it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it goes to standard output, where nothing else should be then.
    pub fn is_stdout(&self) -> bool {
        self.place == Place::Stdout
    }

    /// Whether it goes where another one goes.
    pub fn is_at(&self, other: &ReportFile) -> bool {
        self.place == other.place
    }

    /// The file that it takes the place of.
    pub fn replaces(&self) -> Option<Spot> {
        match &self.target {
            Some(Target::Replace(_, path)) => Spot::of(path),
            _ => None,
        }
    }

    /// The file that is written to as it is.
    pub fn writes(&self) -> Option<Spot> {
        match &self.target {
            Some(Target::Write(file)) => Spot::of_open(file),
            _ => None,
        }
    }

    /// Writes it.
    pub fn write(&mut self, report: std::io::Result<Vec<u8>>) -> Result<(), Failure> {
        let Some(target) = self.target.take() else {
            return Ok(());
        };
        report
            .and_then(|report| target.write(&report))
            .map_err(|error| {
                Failure::sandbox(format!(
                    "cannot write the report to {}: {error}",
                    self.path.display()
                ))
            })
    }
}

impl Target {
    fn open(path: &Path, place: &Place) -> std::io::Result<Target> {
        // Opening these anew would write over what is there if they are files.
        let own = match place {
            Place::Stdout => Some(fcntl_dupfd_cloexec(
                open_since_the_start(std::io::stdout())?,
                3,
            )?),
            Place::Stderr => Some(fcntl_dupfd_cloexec(
                open_since_the_start(std::io::stderr())?,
                3,
            )?),
            Place::Path(_) => None,
        };
        if let Some(own) = own {
            return Ok(Target::Write(File::from(own)));
        }
        match path.metadata() {
            // A link is followed; one to a file that is open somewhere (/proc/self/fd/N) is written
            // to.
            Ok(found)
                if found.is_file()
                    && !path.starts_with("/proc")
                    && !path.starts_with("/dev/fd") =>
            {
                // The right to replace a file is its directory's, the right to write is its own.
                OpenOptions::new().append(true).open(path)?;
                Target::replace(path.canonicalize()?, Some(&found))
            }
            Ok(_) => Ok(Target::Write(OpenOptions::new().append(true).open(path)?)),
            // A link to what is not there yet leads to it all the same: so open(2) has it.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Target::replace(followed(path)?, None)
            }
            Err(error) => Err(error),
        }
    }

    /// `old`: what is there, whose mode and owner the new file gets.
    fn replace(path: PathBuf, old: Option<&Metadata>) -> std::io::Result<Target> {
        let directory = path.parent().unwrap_or(Path::new("/"));
        if path.file_name().is_none() {
            return Err(ErrorKind::IsADirectory.into());
        }
        // The kernel's own words, which tempfile wraps.
        rustix::fs::accessat(
            CWD,
            directory,
            Access::WRITE_OK | Access::EXEC_OK,
            AtFlags::EACCESS,
        )?;
        let mut temporaries = signals::temporaries();
        // As any new file: the umask takes away what it does.
        let temporary = tempfile::Builder::new()
            .prefix(".millibox-report-")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory)?;
        temporaries.push(temporary.path().to_owned());
        if let Some(old) = old {
            // Only root can give files away, and not to whom its user namespace knows nothing of.
            let _ =
                std::os::unix::fs::fchown(temporary.as_file(), Some(old.uid()), Some(old.gid()));
            // As for whoever writes to a file, without the bits that make it run as somebody else.
            temporary
                .as_file()
                .set_permissions(Permissions::from_mode(old.mode() & 0o777))?;
        }
        Ok(Target::Replace(temporary, path))
    }

    fn write(self, report: &[u8]) -> std::io::Result<()> {
        match self {
            Target::Write(mut file) => file.write_all(report),
            Target::Replace(mut temporary, path) => {
                temporary.write_all(report)?;
                temporary.persist(path).map_err(|error| error.error)?;
                Ok(())
            }
        }
    }
}

/// A path without links, whether or not its file is there.
fn real(path: &Path) -> std::io::Result<PathBuf> {
    path.canonicalize().or_else(|_| {
        let path = followed(path)?;
        let directory = path.parent().unwrap_or(Path::new("/")).canonicalize()?;
        Ok(path
            .file_name()
            .map_or(directory.clone(), |name| directory.join(name)))
    })
}

/// Where a path leads whose file is not there, perhaps over links.
fn followed(path: &Path) -> std::io::Result<PathBuf> {
    let mut path = std::path::absolute(path)?;
    for _ in 0..MAX_LINKS {
        let Ok(target) = path.read_link() else {
            return Ok(path);
        };
        path = path.parent().unwrap_or(Path::new("/")).join(target);
    }
    Err(std::io::Error::from_raw_os_error(libc::ELOOP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_left_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("r.json");
        let names = || std::fs::read_dir(&directory).unwrap().count();
        drop(ReportFile::open(&path).unwrap());
        assert_eq!(names(), 0);
        for report in ["one", "another"] {
            let mut file = ReportFile::open(&path).unwrap();
            file.write(Ok(report.into())).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), report);
            assert_eq!(names(), 1);
        }
    }

    #[test]
    fn a_file_keeps_its_mode_and_its_owner() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("r.json");
        std::fs::write(&path, "old").unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(12), Some(34)).unwrap();
        }
        for mode in [0o600, 0o664] {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let old = path.metadata().unwrap();
            ReportFile::open(&path)
                .unwrap()
                .write(Ok("new".into()))
                .unwrap();
            let new = path.metadata().unwrap();
            assert_ne!(old.ino(), new.ino());
            assert_eq!(
                (old.mode(), old.uid(), old.gid()),
                (new.mode(), new.uid(), new.gid())
            );
        }
    }

    #[test]
    fn a_link_is_followed_even_to_what_is_not_there() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir(at("sub")).unwrap();
        std::os::unix::fs::symlink("sub/link", at("link")).unwrap();
        std::os::unix::fs::symlink("../r.json", at("sub/link")).unwrap();
        for report in ["one", "another"] {
            ReportFile::open(&at("link"))
                .unwrap()
                .write(Ok(report.into()))
                .unwrap();
            assert!(at("link").is_symlink() && at("sub/link").is_symlink());
            assert_eq!(std::fs::read_to_string(at("r.json")).unwrap(), report);
        }
        std::os::unix::fs::symlink("round", at("round")).unwrap();
        assert!(ReportFile::open(&at("round")).is_err());
    }

    #[test]
    fn what_cannot_be_written_is_said_first() {
        let directory = tempfile::tempdir().unwrap();
        for path in [
            directory.path().to_owned(),
            directory.path().join("none/r.json"),
            "/".into(),
            "".into(),
        ] {
            let failure = ReportFile::open(&path).err().unwrap();
            assert!(failure.message.starts_with("--report "), "{failure}");
        }
    }
}

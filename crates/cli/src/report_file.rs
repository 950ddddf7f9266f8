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

/// The largest number of symbolic links that are followed, as in path_resolution(7).
const MAX_LINKS: usize = 40;

/// A report file. It is opened before the run, so that a bad path is reported early.
pub struct ReportFile {
    path: PathBuf,
    place: Place,
    /// `None` after the report was written.
    target: Option<Target>,
}

/// The destination of a report, independent of its spelling.
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

/// The identity of a regular file, which may not exist yet.
#[derive(Debug, PartialEq, Eq)]
pub enum FileIdentity {
    /// Device and inode.
    Existing(u64, u64),
    /// The resolved path of a file that does not exist.
    New(PathBuf),
}

impl FileIdentity {
    /// The file at a path; `None` if it is not a regular file.
    pub fn of(path: &Path) -> Option<FileIdentity> {
        match path.metadata() {
            Ok(found) => found
                .is_file()
                .then(|| FileIdentity::Existing(found.dev(), found.ino())),
            Err(_) => real(path).ok().map(FileIdentity::New),
        }
    }

    /// An open file; `None` if it is not a regular file.
    pub fn of_open(file: impl AsFd) -> Option<FileIdentity> {
        let found = fstat(file).ok()?;
        (FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
            .then_some(FileIdentity::Existing(found.st_dev, found.st_ino))
    }
}

enum Target {
    /// A regular file, which is replaced: a reader sees the old content or the complete new one.
    Replace(NamedTempFile, PathBuf),
    /// A pipe, a terminal or a device.
    Write(File),
}

impl ReportFile {
    /// Opens the file and checks that it can be written.
    pub fn open(path: &Path) -> Result<ReportFile, Failure> {
        let place = Place::of(path);
        let target = Target::open(path, &place).map_err(|error| {
            Failure::option(format!(
                "--report {}: cannot write: {error}",
                path.display()
            ))
        })?;
        Ok(ReportFile {
            path: path.to_owned(),
            place,
            target: Some(target),
        })
    }

    /// The path as the user wrote it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the report goes to standard output, which then carries no other output.
    pub fn is_stdout(&self) -> bool {
        self.place == Place::Stdout
    }

    /// Whether another report has the same destination.
    pub fn has_destination_of(&self, other: &ReportFile) -> bool {
        self.place == other.place
    }

    /// The file that the report replaces.
    pub fn replaces(&self) -> Option<FileIdentity> {
        match &self.target {
            Some(Target::Replace(_, path)) => FileIdentity::of(path),
            _ => None,
        }
    }

    /// The open file that the report is written to.
    pub fn writes(&self) -> Option<FileIdentity> {
        match &self.target {
            Some(Target::Write(file)) => FileIdentity::of_open(file),
            _ => None,
        }
    }

    /// Writes the report.
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
        // If the standard streams are files, opening them again would overwrite their content.
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
            // Links are followed. For a link to an open file (/proc/self/fd/N), the report is
            // written to that file.
            Ok(found)
                if found.is_file()
                    && !path.starts_with("/proc")
                    && !path.starts_with("/dev/fd") =>
            {
                // Replacing a file needs write permission on its directory. Check the permission on
                // the file as well.
                OpenOptions::new().append(true).open(path)?;
                Target::replace(path.canonicalize()?, Some(&found))
            }
            Ok(_) => Ok(Target::Write(OpenOptions::new().append(true).open(path)?)),
            // A dangling link names the file to create, as for open(2).
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Target::replace(followed(path)?, None)
            }
            Err(error) => Err(error),
        }
    }

    /// The new file gets mode and owner of the existing file `old`.
    fn replace(path: PathBuf, old: Option<&Metadata>) -> std::io::Result<Target> {
        let directory = path.parent().unwrap_or(Path::new("/"));
        if path.file_name().is_none() {
            return Err(ErrorKind::IsADirectory.into());
        }
        // tempfile would wrap the kernel's error.
        rustix::fs::accessat(
            CWD,
            directory,
            Access::WRITE_OK | Access::EXEC_OK,
            AtFlags::EACCESS,
        )?;
        let mut temporaries = signals::temporaries();
        // The umask applies, as for any new file.
        let temporary = tempfile::Builder::new()
            .prefix(".millibox-report-")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory)?;
        temporaries.push(temporary.path().to_owned());
        if let Some(old) = old {
            // Only root can change the owner, and only to ids that its user namespace maps.
            let _ =
                std::os::unix::fs::fchown(temporary.as_file(), Some(old.uid()), Some(old.gid()));
            // Without the set-user-ID and set-group-ID bits, which a write would clear as well.
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

/// A path without links. The file may be missing.
fn real(path: &Path) -> std::io::Result<PathBuf> {
    path.canonicalize().or_else(|_| {
        let path = followed(path)?;
        let directory = path.parent().unwrap_or(Path::new("/")).canonicalize()?;
        Ok(path
            .file_name()
            .map_or(directory.clone(), |name| directory.join(name)))
    })
}

/// Follows the links of a path whose file is missing.
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
    fn report_replaces_file_and_leaves_no_temporary_file() {
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
    fn replaced_file_keeps_mode_and_owner() {
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
    fn report_to_dangling_link_creates_the_target() {
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
    fn report_to_unwritable_path_is_rejected_at_open() {
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

//! Faults of files and archives.
#![allow(
    missing_docs,
    reason = "the message of a variant describes the variant and its fields"
)]

use super::text::Excerpt;
use crate::cause::Cause;
use crate::machine::is_of_machine;
use std::io;
use zip::result::ZipError;

/// An error of the operating system.
pub type SystemError = Cause<io::Error>;

/// A fault of a file or directory, or of the package as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileFault {
    #[error("cannot be read: {0}")]
    Unreadable(SystemError),
    #[error("not a problem package: it has no problem.yaml, domjudge-problem.ini or Simfile")]
    NoPackage,
    #[error("not read: the package is read as an ICPC package, because it has a problem.yaml")]
    OtherFormat,
    #[error("longer than {mebibytes} MiB")]
    TooLong { mebibytes: u64 },
    #[error("begins with a byte-order mark; remove it")]
    ByteOrderMark,
    #[error("is not UTF-8; save the file as UTF-8")]
    NotUtf8,
    #[error("directories nested deeper than {max}; not read")]
    TooDeep { max: usize },
    #[error(
        "left out: use only letters, digits and _ . - + in names, and do not begin them with a dash"
    )]
    Name,
    #[error("neither a file nor a directory; not read")]
    NotRegular,
    #[error("symbolic link to {target}, which cannot be reached: {error}")]
    DanglingLink { target: Excerpt, error: SystemError },
    #[error("symbolic link to {target}, outside the package; not followed")]
    LinkOutside { target: Excerpt },
    #[error("symbolic link to {target}, a directory that contains the link itself; not followed")]
    LinkLoop { target: Excerpt },
}

impl FileFault {
    pub(crate) fn is_of_machine(&self) -> bool {
        match self {
            FileFault::Unreadable(error) | FileFault::DanglingLink { error, .. } => {
                is_of_machine(error)
            }
            _ => false,
        }
    }
}

/// A fault of a package's archive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveFault {
    #[error("neither a directory nor a zip archive: {0}")]
    NotZip(Cause<ZipError>),
    #[error("cannot create a temporary directory to unpack the archive: {0}")]
    TemporaryDirectory(SystemError),
    #[error("the archive has two entries with the same name; pack it again")]
    DuplicateNames,
    #[error("entry {number} of the archive cannot be unpacked: {error}")]
    EntryUnreadable {
        number: usize,
        error: Cause<ZipError>,
    },
    #[error("{name:?} cannot be unpacked: {error}")]
    Entry { name: Excerpt, error: SystemError },
    #[error("the entry {name:?} leads outside the package; pack the archive again")]
    EntryOutside { name: Excerpt },
    #[error(
        "the entry {name:?} leads outside the package or has \\ in place of /; pack the archive \
         again"
    )]
    EntryWithBackslash { name: Excerpt },
    #[error("the symbolic link {name:?} to {target:?} leads outside the package")]
    LinkOutside { name: Excerpt, target: Excerpt },
    #[error("symbolic link {name} cannot be unpacked: {error}")]
    Link { name: Excerpt, error: SystemError },
}

impl ArchiveFault {
    pub(super) fn is_of_machine(&self) -> bool {
        match self {
            ArchiveFault::TemporaryDirectory(_) => true,
            ArchiveFault::Entry { error, .. } | ArchiveFault::Link { error, .. } => {
                is_of_machine(error)
            }
            ArchiveFault::NotZip(error) | ArchiveFault::EntryUnreadable { error, .. } => {
                matches!(&**error, ZipError::Io(error) if is_of_machine(error))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Fault, FaultKind, Severity};
    use rustix::io::Errno;

    #[test]
    fn package_is_not_blamed_for_failures_of_the_machine() {
        let entry = |errno: Errno| ArchiveFault::Entry {
            name: Excerpt::new("a"),
            error: io::Error::from(errno).into(),
        };
        let unreadable = |errno: Errno| FileFault::Unreadable(io::Error::from(errno).into());
        let not_zip = |errno: Errno| ArchiveFault::NotZip(ZipError::Io(errno.into()).into());
        let temporary = ArchiveFault::TemporaryDirectory(io::Error::from(Errno::ACCESS).into());
        let invalid = ArchiveFault::NotZip(ZipError::InvalidArchive("no end".into()).into());
        for (kind, expected) in [
            (FaultKind::from(entry(Errno::NOSPC)), true),
            (entry(Errno::NAMETOOLONG).into(), false),
            (unreadable(Errno::MFILE).into(), true),
            (unreadable(Errno::ACCESS).into(), false),
            (not_zip(Errno::IO).into(), true),
            (invalid.into(), false),
            (temporary.into(), true),
            (FileFault::NotUtf8.into(), false),
        ] {
            let fault = Fault::new("a", Severity::Error, kind);
            assert_eq!(fault.is_of_machine(), expected, "{fault}");
        }
    }
}

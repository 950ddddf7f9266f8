//! The messages of faults of files and archives.

use super::{Messages, denied};
use millibox_package::fault::files::{ArchiveFault, FileFault};
use zip::result::ZipError;

pub fn messages() -> Messages {
    messages![
        "FileFault::Unreadable" => FileFault::Unreadable(denied()),
        "FileFault::NoPackage" => FileFault::NoPackage,
        "FileFault::OtherFormat" => FileFault::OtherFormat,
        "FileFault::TooLong" => FileFault::TooLong { mebibytes: 3 },
        "FileFault::ByteOrderMark" => FileFault::ByteOrderMark,
        "FileFault::NotUtf8" => FileFault::NotUtf8,
        "FileFault::TooDeep" => FileFault::TooDeep { max: 3 },
        "FileFault::Name" => FileFault::Name,
        "FileFault::NotRegular" => FileFault::NotRegular,
        "FileFault::DanglingLink" => FileFault::DanglingLink {
            target: "TARGET".into(),
            error: denied(),
        },
        "FileFault::LinkOutside" => FileFault::LinkOutside {
            target: "TARGET".into(),
        },
        "FileFault::LinkLoop" => FileFault::LinkLoop {
            target: "TARGET".into(),
        },
        "ArchiveFault::NotZip" =>
            ArchiveFault::NotZip(ZipError::InvalidArchive("REASON".into()).into()),
        "ArchiveFault::TemporaryDirectory" => ArchiveFault::TemporaryDirectory(denied()),
        "ArchiveFault::DuplicateNames" => ArchiveFault::DuplicateNames,
        "ArchiveFault::EntryUnreadable" => ArchiveFault::EntryUnreadable {
            number: 3,
            error: ZipError::UnsupportedArchive("REASON").into(),
        },
        "ArchiveFault::Entry" => ArchiveFault::Entry {
            name: "NAME".into(),
            error: denied(),
        },
        "ArchiveFault::EntryOutside" => ArchiveFault::EntryOutside {
            name: "NAME".into(),
        },
        "ArchiveFault::EntryWithBackslash" => ArchiveFault::EntryWithBackslash {
            name: "NAME".into(),
        },
        "ArchiveFault::LinkOutside" => ArchiveFault::LinkOutside {
            name: "NAME".into(),
            target: "TARGET".into(),
        },
        "ArchiveFault::Link" => ArchiveFault::Link {
            name: "NAME".into(),
            error: denied(),
        },
    ]
}

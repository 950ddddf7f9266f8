//! Additional files of a submission: a zip archive that is not trusted.

use bytes::Bytes;
use std::collections::HashSet;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use zip::ZipArchive;

/// Maximum size of all files together, in KiB.
pub const MAX_EXTRACT_KIB: u64 = 10_240;
const MAX_FILES: usize = 2_000;
/// Permissions of a file for which the archive stores none.
const DEFAULT_MODE: u32 = 0o755;

/// A file that is unpacked into the working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveFile {
    /// Relative, without `..`.
    pub path: PathBuf,
    /// The content.
    pub bytes: Bytes,
    /// The permission bits.
    pub mode: u32,
}

/// Why an archive is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The data is not a zip archive, or is damaged.
    #[error("is not a readable zip archive")]
    Unreadable,
    /// A name points outside the directory.
    #[error("has a file with the name {0:?}, which points outside the directory")]
    Name(String),
    /// A symbolic link.
    #[error("has a symbolic link, {0:?}")]
    Link(String),
    /// Two files have the same name, or a file has the name of a directory.
    #[error("has two files with the name {0:?}")]
    Twice(String),
    /// The total size of the files is too large.
    #[error("is too large (maximum is {MAX_EXTRACT_KIB} KB of all files)")]
    TooLarge,
    /// The archive has too many files.
    #[error("has too many files (maximum is {MAX_FILES})")]
    TooMany,
}

/// Reads an archive.
///
/// # Errors
/// The archive is damaged, too large, or has names that cannot be used.
pub fn read(bytes: &[u8]) -> Result<Vec<ArchiveFile>, ArchiveError> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| ArchiveError::Unreadable)?;
    if archive.len() > MAX_FILES {
        return Err(ArchiveError::TooMany);
    }
    let mut files = Vec::new();
    let mut directories = HashSet::new();
    // The sizes in the archive may be wrong, so the bytes that are read are counted.
    let mut room = MAX_EXTRACT_KIB << 10;
    for index in 0..archive.len() {
        let entry = archive
            .by_index(index)
            .map_err(|_| ArchiveError::Unreadable)?;
        if entry.is_dir() {
            continue;
        }
        let name = || String::from_utf8_lossy(entry.name_raw()).into_owned();
        if entry.is_symlink() {
            return Err(ArchiveError::Link(name()));
        }
        let path = entry
            .enclosed_name()
            .filter(|path| path.file_name().is_some())
            .ok_or_else(|| ArchiveError::Name(name()))?;
        let mode = entry.unix_mode().map_or(DEFAULT_MODE, |mode| mode & 0o777);
        let mut content = Vec::new();
        let name = name();
        let length = entry
            .take(room + 1)
            .read_to_end(&mut content)
            .map_err(|_| ArchiveError::Unreadable)? as u64;
        room = room.checked_sub(length).ok_or(ArchiveError::TooLarge)?;
        let parents = path.ancestors().skip(1).map(Path::to_owned);
        directories.extend(parents);
        let path: PathBuf = path.components().collect();
        if files.iter().any(|file: &ArchiveFile| file.path == path) {
            return Err(ArchiveError::Twice(name));
        }
        files.push(ArchiveFile {
            path,
            bytes: content.into(),
            // The owner must be able to read the file, even if the archive forbids it.
            mode: mode | 0o400,
        });
    }
    match files.iter().find(|file| directories.contains(&file.path)) {
        Some(file) => Err(ArchiveError::Twice(file.path.display().to_string())),
        None => Ok(files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in files {
            let options = SimpleFileOptions::default().unix_permissions(0o640);
            writer.start_file(*name, options).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn files_are_read_with_their_modes() {
        let files = read(&archive(&[("a.txt", b"one"), ("sub/b", b"")])).unwrap();
        let shown: Vec<_> = files
            .iter()
            .map(|file| (file.path.to_str().unwrap(), &file.bytes[..], file.mode))
            .collect();
        assert_eq!(
            shown,
            [("a.txt", &b"one"[..], 0o640), ("sub/b", b"", 0o640)]
        );
    }

    #[test]
    fn bombs_are_rejected() {
        let zeros = vec![0; 6 << 20];
        let bomb = archive(&[("a", &zeros), ("b", &zeros)]);
        assert!(bomb.len() < 1 << 20);
        assert_eq!(read(&bomb), Err(ArchiveError::TooLarge));
        let names: Vec<String> = (0..=MAX_FILES).map(|number| number.to_string()).collect();
        let many: Vec<(&str, &[u8])> = names.iter().map(|name| (&name[..], &b""[..])).collect();
        assert_eq!(read(&archive(&many)), Err(ArchiveError::TooMany));
    }

    #[test]
    fn damaged_archives_and_names_that_lead_out_are_rejected() {
        assert_eq!(read(b"no zip"), Err(ArchiveError::Unreadable));
        for name in ["../a", "a/../../b"] {
            let error = read(&archive(&[(name, b"x")])).unwrap_err();
            assert_eq!(error, ArchiveError::Name(name.to_owned()));
        }
        let error = read(&archive(&[("a", b"x"), ("a/b", b"y")])).unwrap_err();
        assert_eq!(error, ArchiveError::Twice("a".to_owned()));
    }

    #[test]
    fn links_are_rejected() {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer
            .add_symlink("l", "/etc/passwd", SimpleFileOptions::default())
            .unwrap();
        let bytes = writer.finish().unwrap().into_inner();
        assert_eq!(read(&bytes), Err(ArchiveError::Link("l".to_owned())));
    }
}

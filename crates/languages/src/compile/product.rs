//! What a compilation left in its output directory, as it comes out of the sandbox: a tar archive,
//! written by whatever the source made of the compiler. Nothing in it is trusted.

use crate::files::{Store, StoreError, StoredFiles};
use std::cell::Cell;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use tar::EntryType;

/// Bytes of an archive between the contents of two files: headers, long names, padding. The most
/// that the archive's reader keeps in memory.
const MAX_HEADER_BYTES: u64 = 64 << 10;
/// Entries of an archive.
pub(super) const MAX_ENTRIES: u64 = crate::files::MAX_STORED_FILES as u64;

/// Why there is no product.
#[derive(Debug)]
pub(super) enum ProductError {
    /// There is more of it than is allowed.
    TooLarge,
    /// It is not made of regular files with usable names, or is no archive: the compilation's own
    /// doing.
    Refused(String),
    /// The host failed to store it.
    Host(String),
}

/// Puts the regular files of an archive into a directory. `most`: bytes that they may have
/// together.
pub(super) fn unpack(
    archive: impl Read,
    mut store: Store,
    most: u64,
) -> Result<StoredFiles, ProductError> {
    let refused = |why: String| Err(ProductError::Refused(why));
    let unreadable = |error: io::Error| {
        ProductError::Refused(format!("what the compilation left cannot be read: {error}"))
    };
    let allowance = Cell::new(MAX_HEADER_BYTES);
    let mut left = most;
    let mut entries: u64 = 0;
    for entry in tar::Archive::new(BoundedReader {
        from: archive,
        left: &allowance,
    })
    .entries()
    .map_err(unreadable)?
    {
        let mut entry = entry.map_err(unreadable)?;
        entries += 1;
        if entries > MAX_ENTRIES {
            return refused(format!(
                "the compilation left more than {MAX_ENTRIES} files"
            ));
        }
        let name = plain(&entry.path().map_err(unreadable)?);
        let kind = entry.header().entry_type();
        let executable = entry.header().mode().map_err(unreadable)? & 0o100 != 0;
        let stored = match kind {
            EntryType::Directory => Ok(0),
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let size = entry.size();
                if size > left {
                    return Err(ProductError::TooLarge);
                }
                allowance.set(size + MAX_HEADER_BYTES);
                store.add(&name, executable, &mut entry, left)
            }
            // Another name of a file that came before.
            EntryType::Link => {
                let target = plain(&entry.link_name().map_err(unreadable)?.unwrap_or_default());
                match store.add_copy(&name, &target, left) {
                    Ok(None) => {
                        return refused(format!(
                            "the compilation left {name:?}, which is a link to nothing"
                        ));
                    }
                    Ok(Some(length)) => Ok(length),
                    Err(error) => Err(error),
                }
            }
            _ => {
                return refused(format!(
                    "the compilation left {name:?}, which is not a regular file"
                ));
            }
        };
        match stored {
            Ok(length) => left -= length,
            Err(StoreError::TooLarge(_)) => return Err(ProductError::TooLarge),
            Err(error @ StoreError::Name { .. }) => {
                return refused(format!("the compilation left a file: {error}"));
            }
            Err(StoreError::Source(error)) => return Err(unreadable(error)),
            Err(error @ StoreError::Host { .. }) => {
                return Err(ProductError::Host(error.to_string()));
            }
        }
        allowance.set(MAX_HEADER_BYTES);
    }
    Ok(store.finish())
}

fn plain(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| !matches!(part, Component::CurDir))
        .collect()
}

/// Reads no more than is allowed at the time.
struct BoundedReader<'a, R> {
    from: R,
    left: &'a Cell<u64>,
}

impl<R: Read> Read for BoundedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.get();
        if left == 0 && !buffer.is_empty() {
            return Err(io::Error::other("its headers are too long"));
        }
        let length = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = self.from.read(&mut buffer[..length])?;
        self.left.set(left - read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tar::{Builder, Header};

    fn archive(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (name, kind, content) in entries {
            let mut header = Header::new_ustar();
            header.set_entry_type(*kind);
            header.set_mode(0o755);
            let link = matches!(kind, EntryType::Link | EntryType::Symlink);
            if link {
                header.set_link_name(content).unwrap();
            }
            header.set_size(if link { 0 } else { content.len() as u64 });
            // `set_path` refuses what a hostile archive has.
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            builder
                .append(&header, if link { "" } else { *content }.as_bytes())
                .unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn unpack(archive: &[u8], most: u64) -> Result<StoredFiles, ProductError> {
        let ids = (
            rustix::process::geteuid().as_raw(),
            rustix::process::getegid().as_raw(),
        );
        super::unpack(archive, Store::new(ids).unwrap(), most)
    }

    #[test]
    fn unpack_regular_files_stores_them() {
        let all = archive(&[
            ("./", EntryType::Directory, ""),
            ("./a", EntryType::Regular, "xyz"),
            ("./d/b", EntryType::Regular, ""),
            ("./c", EntryType::Link, "./a"),
        ]);
        let stored = unpack(&all, 6).unwrap();
        let content = |name: &str| std::fs::read(stored.directory.path().join(name)).unwrap();
        assert_eq!(
            (content("a"), content("d/b"), content("c")),
            (b"xyz".to_vec(), Vec::new(), b"xyz".to_vec())
        );
        assert!(
            ["a", "d/b", "c"]
                .iter()
                .all(|name| stored.has_executable(Path::new(name)))
        );
        assert!(matches!(unpack(&all, 5), Err(ProductError::TooLarge)));
    }

    #[test]
    fn unpack_hostile_archive_refuses_it() {
        let why = |name, kind, content| {
            unpack(
                &archive(&[("a", EntryType::Regular, "xyz"), (name, kind, content)]),
                5,
            )
            .unwrap_err()
        };
        for (name, kind, content) in [
            ("../x", EntryType::Regular, ""),
            ("/etc/x", EntryType::Regular, ""),
            ("a", EntryType::Regular, ""),
            ("a/b", EntryType::Regular, ""),
            ("l", EntryType::Symlink, "/etc/passwd"),
            ("l", EntryType::Link, "/etc/passwd"),
            ("p", EntryType::Fifo, ""),
            ("c", EntryType::Char, ""),
        ] {
            let error = why(name, kind, content);
            assert!(
                matches!(error, ProductError::Refused(_)),
                "{name}: {error:?}"
            );
        }
        for (name, kind, content) in [
            ("b", EntryType::Regular, "xyz"),
            ("l", EntryType::Link, "a"),
        ] {
            assert!(
                matches!(why(name, kind, content), ProductError::TooLarge),
                "{name}"
            );
        }
        assert!(matches!(
            unpack(b"garbage", 5),
            Err(ProductError::Refused(_))
        ));
        let whole = archive(&[("a", EntryType::Regular, "xyz")]);
        assert!(matches!(
            unpack(&whole[..514], 5),
            Err(ProductError::Refused(_))
        ));
    }

    #[test]
    fn unpack_endless_long_name_is_not_kept_in_memory() {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::GNULongName);
        header.set_size(8 << 30);
        header.set_cksum();
        let mut endless = header.as_bytes().chain(io::repeat(b'x').take(1 << 30));
        let ids = (
            rustix::process::geteuid().as_raw(),
            rustix::process::getegid().as_raw(),
        );
        let result = super::unpack(&mut endless, Store::new(ids).unwrap(), 1 << 40);
        assert!(
            matches!(result, Err(ProductError::Refused(_))),
            "{result:?}"
        );
        assert!(endless.into_inner().1.limit() > (1 << 30) - (1 << 20));
    }
}

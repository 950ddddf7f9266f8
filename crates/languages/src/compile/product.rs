//! Unpacks the product of a compilation: a tar archive of its output directory. A source may have
//! taken over the process that writes the archive, so the archive is not trusted.

use super::error::{MAX_PRODUCT_FILES, ProductFault};
use crate::files::{HostError, Store, StoreError, StoredFiles};
use std::cell::Cell;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use tar::EntryType;

/// Maximum number of bytes of an archive between the contents of two files: headers, long names and
/// padding. The reader of the archive keeps at most this number of bytes in memory.
const MAX_HEADER_BYTES: u64 = 64 << 10;
/// Why a product cannot be used.
#[derive(Debug)]
pub(super) enum ProductError {
    /// The files exceed the allowed number of bytes.
    TooLarge,
    /// The compilation wrote an unusable product.
    Fault(ProductFault),
    /// The host failed to store the product.
    Host(HostError),
}

impl From<ProductFault> for ProductError {
    fn from(fault: ProductFault) -> ProductError {
        ProductError::Fault(fault)
    }
}

/// Stores the regular files of an archive. Their total size may be at most `max_bytes` bytes.
pub(super) fn unpack(
    archive: impl Read,
    mut store: Store,
    max_bytes: u64,
) -> Result<StoredFiles, ProductError> {
    let unreadable = |error: io::Error| ProductError::from(ProductFault::Unreadable(error.into()));
    let allowance = Cell::new(MAX_HEADER_BYTES);
    let mut left = max_bytes;
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
        if entries > MAX_PRODUCT_FILES {
            return Err(ProductFault::TooManyFiles.into());
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
            // A hard link to an earlier entry.
            EntryType::Link => {
                let target = plain(&entry.link_name().map_err(unreadable)?.unwrap_or_default());
                match store.add_copy(&name, &target, left) {
                    Ok(None) => return Err(ProductFault::DanglingLink(name).into()),
                    Ok(Some(length)) => Ok(length),
                    Err(error) => Err(error),
                }
            }
            _ => return Err(ProductFault::NotRegular(name).into()),
        };
        match stored {
            Ok(length) => left -= length,
            Err(StoreError::TooLarge(_)) => return Err(ProductError::TooLarge),
            Err(StoreError::Name { name, fault }) => {
                return Err(ProductFault::Name { name, fault }.into());
            }
            Err(StoreError::Source(error)) => return Err(unreadable(error)),
            Err(StoreError::Host(error)) => return Err(ProductError::Host(error)),
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

/// Reads at most `left` bytes, and counts them down.
struct BoundedReader<'a, R> {
    from: R,
    left: &'a Cell<u64>,
}

impl<R: Read> Read for BoundedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.get();
        if left == 0 && !buffer.is_empty() {
            return Err(io::Error::other("headers are too long"));
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
            // `set_path` rejects the names of a hostile archive.
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            builder
                .append(&header, if link { "" } else { *content }.as_bytes())
                .unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn unpack(archive: &[u8], max_bytes: u64) -> Result<StoredFiles, ProductError> {
        let ids = (
            rustix::process::geteuid().as_raw(),
            rustix::process::getegid().as_raw(),
        );
        super::unpack(archive, Store::new(ids).unwrap(), max_bytes)
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
    fn unpack_hostile_archive_returns_fault() {
        let error = |name, kind, content| {
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
            let error = error(name, kind, content);
            assert!(matches!(error, ProductError::Fault(_)), "{name}: {error:?}");
        }
        for (name, kind, content) in [
            ("b", EntryType::Regular, "xyz"),
            ("l", EntryType::Link, "a"),
        ] {
            assert!(
                matches!(error(name, kind, content), ProductError::TooLarge),
                "{name}"
            );
        }
        assert!(matches!(unpack(b"garbage", 5), Err(ProductError::Fault(_))));
        let whole = archive(&[("a", EntryType::Regular, "xyz")]);
        assert!(matches!(
            unpack(&whole[..514], 5),
            Err(ProductError::Fault(_))
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
        assert!(matches!(result, Err(ProductError::Fault(_))), "{result:?}");
        assert!(endless.into_inner().1.limit() > (1 << 30) - (1 << 20));
    }
}

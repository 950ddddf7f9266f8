//! What a compilation left in its output directory, as it comes out of the sandbox: a tar archive,
//! written by whoever the source made of the compiler. Nothing in it is trusted.

use crate::files::{File, stays_below};
use std::io::Read;
use std::path::{Component, PathBuf};
use tar::EntryType;

/// Files of one product.
pub(super) const MOST_FILES: u64 = 10_000;

/// The regular files of an archive, in its order. Directories are made as files need them.
pub(super) fn files(archive: &[u8], most: u64) -> Result<Vec<File>, String> {
    let unreadable = |error: std::io::Error| format!("what the compilation left cannot be read: {error}");
    let mut files: Vec<File> = Vec::new();
    let mut left = most;
    for entry in tar::Archive::new(archive).entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let name: PathBuf =
            entry.path().map_err(unreadable)?.components().filter(|part| !matches!(part, Component::CurDir)).collect();
        let kind = entry.header().entry_type();
        if kind == EntryType::Directory {
            continue;
        }
        if !stays_below(&name) {
            return Err(format!("the compilation left a file {:?}, which is no name of one", name));
        }
        let executable = entry.header().mode().map_err(unreadable)? & 0o100 != 0;
        let bytes = match kind {
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let mut bytes = Vec::new();
                entry.by_ref().take(left + 1).read_to_end(&mut bytes).map_err(unreadable)?;
                bytes
            }
            // Another name of a file that came before.
            EntryType::Link => {
                let target = entry.link_name().map_err(unreadable)?.unwrap_or_default();
                let target: PathBuf = target.components().filter(|part| !matches!(part, Component::CurDir)).collect();
                let known = files.iter().find(|file| file.name == target);
                known.map(|file| file.bytes.clone()).ok_or_else(|| format!("{name:?} is a link to nothing"))?
            }
            _ => return Err(format!("the compilation left {name:?}, which is not a regular file")),
        };
        match left.checked_sub(bytes.len() as u64) {
            Some(rest) if (files.len() as u64) < MOST_FILES => left = rest,
            _ => return Err(format!("the compilation left more than {most} bytes or {MOST_FILES} files")),
        }
        files.push(File { name, executable, bytes });
    }
    Ok(files)
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
            builder.append(&header, if link { "" } else { *content }.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn regular_files_come_out() {
        let all = archive(&[
            ("./", EntryType::Directory, ""),
            ("./a", EntryType::Regular, "xyz"),
            ("./d/b", EntryType::Regular, ""),
            ("./c", EntryType::Link, "./a"),
        ]);
        let files = files(&all, 6).unwrap();
        let shown: Vec<_> = files.iter().map(|file| (file.name.to_str().unwrap(), &file.bytes[..])).collect();
        assert_eq!(shown, [("a", &b"xyz"[..]), ("d/b", b""), ("c", b"xyz")]);
        assert!(files.iter().all(|file| file.executable));
    }

    #[test]
    fn what_is_hostile_is_refused() {
        let why = |name, kind, content| files(&archive(&[("a", EntryType::Regular, "xyz"), (name, kind, content)]), 5);
        for (name, kind, content, said) in [
            ("../x", EntryType::Regular, "", "no name"),
            ("/etc/x", EntryType::Regular, "", "no name"),
            ("l", EntryType::Symlink, "/etc/passwd", "not a regular file"),
            ("l", EntryType::Link, "/etc/passwd", "a link to nothing"),
            ("l", EntryType::Link, "a", "more than 5 bytes"),
            ("p", EntryType::Fifo, "", "not a regular file"),
            ("b", EntryType::Regular, "xyz", "more than 5 bytes"),
        ] {
            let error = why(name, kind, content).unwrap_err();
            assert!(error.contains(said), "{name}: {error}");
        }
        assert!(files(b"garbage", 5).is_err());
        let whole = archive(&[("a", EntryType::Regular, "xyz")]);
        assert!(files(&whole[..514], 5).is_err());
    }
}

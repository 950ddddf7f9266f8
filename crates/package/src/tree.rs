//! The files of a package. They are listed once, and files outside the package are never opened.

use crate::bound::{Bound, MAX_DEPTH, MAX_ENTRIES, MAX_PATH_BYTES, MAX_SEARCHED_BYTES};
use crate::fault::Severity;
use crate::fault::files::FileFault;
use crate::fault::log::{Log, Place};
use crate::fault::text::Excerpt;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Python's directory of compiled files. Running a program in the package creates it.
pub const PYTHON_CACHE: &str = "__pycache__";
/// A symbolic link counts as this many files, because it is resolved name by name.
const LINK_WEIGHT: usize = 10;
/// Maximum length of a file that is read as text.
const MAX_FILE_BYTES: u64 = 16 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
}

/// The rules of a format for names.
pub struct Names {
    /// Returns whether the format allows a name. Files with other names are left out.
    pub allowed: fn(&str) -> bool,
    /// Returns whether judging needs the file or directory at a path. A fault in it is then an
    /// error, and otherwise a warning.
    pub needed: fn(&str) -> bool,
}

/// The files of a package by path. Paths are relative to the package, use `/` and are UTF-8.
pub struct Tree {
    root: PathBuf,
    entries: BTreeMap<String, Kind>,
    /// The number of bytes that were searched.
    searched: Cell<u64>,
}

impl Tree {
    /// Lists a directory. Names that begin with a dot and Python's cache are left out.
    pub fn list(root: &Path, names: &Names, log: &Log) -> Tree {
        let mut tree = Tree {
            root: root.to_owned(),
            entries: BTreeMap::new(),
            searched: Cell::default(),
        };
        match root.canonicalize() {
            Ok(real) => Walk {
                tree: &mut tree,
                real,
                names,
                log,
                examined: 0,
                bytes: 0,
            }
            .directory("", 0),
            Err(error) => log.error("", FileFault::Unreadable(error.into())),
        }
        tree
    }

    /// Adds a file that will be generated, and the directories above it.
    pub fn expect(&mut self, path: &str) {
        self.entries.entry(path.to_owned()).or_insert(Kind::File);
        for (at, _) in path.match_indices('/') {
            self.entries
                .entry(path[..at].to_owned())
                .or_insert(Kind::Directory);
        }
    }

    pub fn kind(&self, path: &str) -> Option<Kind> {
        self.entries.get(path).copied()
    }

    pub fn is_file(&self, path: &str) -> bool {
        self.kind(path) == Some(Kind::File)
    }

    pub fn is_directory(&self, path: &str) -> bool {
        self.kind(path) == Some(Kind::Directory)
    }

    /// Returns the path on this machine.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Returns the entries of a directory (`""` is the package) in sorted order: name, path, kind.
    pub fn children<'a>(&'a self, directory: &str) -> Vec<(&'a str, &'a str, Kind)> {
        self.below(directory)
            .filter_map(|(rest, path, kind)| (!rest.contains('/')).then_some((rest, path, kind)))
            .collect()
    }

    /// Returns all files below a directory.
    pub fn files<'a>(&'a self, directory: &str) -> impl Iterator<Item = &'a str> {
        self.below(directory)
            .filter(|(_, _, kind)| *kind == Kind::File)
            .map(|(_, path, _)| path)
    }

    fn below<'a>(&'a self, directory: &str) -> impl Iterator<Item = (&'a str, &'a str, Kind)> {
        let prefix = if directory.is_empty() {
            String::new()
        } else {
            format!("{directory}/")
        };
        let length = prefix.len();
        let from = self.entries.range(prefix.clone()..);
        from.take_while(move |(path, _)| path.starts_with(&prefix))
            .map(move |(path, kind)| (&path[length..], &**path, *kind))
    }

    /// Reads the first bytes of a file.
    pub fn bytes(&self, path: &str, most: u64) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(self.path(path))?
            .take(most)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads the beginning of a file that is searched but not kept. Returns `None` if the file
    /// cannot be read, or if too many bytes of the package were searched, which is then reported.
    pub fn searched(&self, path: &str, most: u64, log: &Log) -> Option<Vec<u8>> {
        if self.searched.get() > MAX_SEARCHED_BYTES {
            log.exceeds(path, Bound::Searched);
            return None;
        }
        let bytes = self.bytes(path, most).ok()?;
        self.searched.set(self.searched.get() + bytes.len() as u64);
        Some(bytes)
    }

    /// Reads a file as text. `None` means that it is not text and that the log contains the fault.
    pub fn text(&self, path: &str, log: &Log) -> Option<String> {
        let bytes = match self.bytes(path, MAX_FILE_BYTES + 1) {
            Ok(bytes) if bytes.len() as u64 > MAX_FILE_BYTES => {
                let mebibytes = MAX_FILE_BYTES >> 20;
                log.error(path, FileFault::TooLong { mebibytes });
                return None;
            }
            Ok(bytes) if !log.takes(path, bytes.len()) => return None,
            Ok(bytes) => bytes,
            Err(error) => {
                log.error(path, FileFault::Unreadable(error.into()));
                return None;
            }
        };
        match String::from_utf8(bytes) {
            Ok(mut text) => {
                if text.starts_with('\u{feff}') {
                    log.warning(Place::file(path).at_line(1), FileFault::ByteOrderMark);
                    text.remove(0);
                }
                Some(text)
            }
            Err(error) => {
                let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let lines = 1 + good.iter().filter(|byte| **byte == b'\n').count();
                let place = Place::file(path).at_line(u32::try_from(lines).unwrap_or(u32::MAX));
                log.error(&place, FileFault::NotUtf8);
                None
            }
        }
    }
}

struct Walk<'a> {
    tree: &'a mut Tree,
    /// The root of the package without symbolic links in its path.
    real: PathBuf,
    names: &'a Names,
    log: &'a Log,
    /// The number of files and directories that were examined. It includes those that are left out,
    /// because links may lead to them repeatedly.
    examined: usize,
    /// The total length of their paths in bytes.
    bytes: usize,
}

impl Walk<'_> {
    fn fault(&self, path: &str, fault: FileFault) {
        // Without the file, another attempt would judge another package.
        let is_needed = path.is_empty() || (self.names.needed)(path) || fault.is_of_machine();
        let severity = if is_needed {
            Severity::Error
        } else {
            Severity::Warning
        };
        self.log.add(severity, &Place::file(path), fault);
    }

    fn directory(&mut self, path: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return self.fault(path, FileFault::TooDeep { max: MAX_DEPTH });
        }
        let entries = match fs::read_dir(self.tree.path(path))
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        {
            Ok(entries) => entries,
            Err(error) => return self.fault(path, FileFault::Unreadable(error.into())),
        };
        for entry in entries {
            if let Some(bound) = self.full() {
                return self.log.exceeds("", bound);
            }
            let name = entry.file_name();
            // DOMjudge reads `.timelimit`.
            if name.as_encoded_bytes().starts_with(b".") && name != ".timelimit"
                || name == PYTHON_CACHE
            {
                continue;
            }
            let shown = name.to_string_lossy();
            let child = if path.is_empty() {
                shown.to_string()
            } else {
                format!("{path}/{shown}")
            };
            self.examined += 1;
            self.bytes += child.len();
            // Programs would interpret a name that begins with a dash as an option.
            if name
                .to_str()
                .is_none_or(|name| name.starts_with('-') || !(self.names.allowed)(name))
            {
                if (self.names.needed)(&child) {
                    self.log.warning(&child, FileFault::Name);
                }
                continue;
            }
            self.entry(child, depth);
        }
    }

    fn full(&self) -> Option<Bound> {
        match self {
            Walk { examined, .. } if *examined >= MAX_ENTRIES => Some(Bound::Files),
            Walk { bytes, .. } if *bytes > MAX_PATH_BYTES => Some(Bound::Paths),
            _ => None,
        }
    }

    fn entry(&mut self, path: String, depth: usize) {
        let place = self.tree.path(&path);
        let kind = match fs::symlink_metadata(&place) {
            Ok(metadata) if metadata.is_symlink() => {
                self.examined += LINK_WEIGHT - 1;
                match self.link(&path) {
                    Some(kind) => kind,
                    None => return,
                }
            }
            Ok(metadata) => metadata.file_type(),
            Err(error) => return self.fault(&path, FileFault::Unreadable(error.into())),
        };
        if kind.is_dir() {
            self.tree.entries.insert(path.clone(), Kind::Directory);
            self.directory(&path, depth + 1);
        } else if !kind.is_file() {
            self.fault(&path, FileFault::NotRegular);
        } else {
            if (self.names.needed)(&path)
                && let Err(error) = File::open(&place)
            {
                self.fault(&path, FileFault::Unreadable(error.into()));
            }
            self.tree.entries.insert(path, Kind::File);
        }
    }

    /// Returns the kind of a symbolic link's target, if the target is inside the package.
    fn link(&self, path: &str) -> Option<fs::FileType> {
        let place = self.tree.path(path);
        let target = fs::read_link(&place).unwrap_or_default();
        // Escapes keep the fault on one line.
        let target = Excerpt::from(target.to_string_lossy().escape_debug().to_string());
        let real = match place.canonicalize() {
            Ok(real) => real,
            Err(error) => {
                let error = error.into();
                self.fault(path, FileFault::DanglingLink { target, error });
                return None;
            }
        };
        if !real.starts_with(&self.real) {
            self.fault(path, FileFault::LinkOutside { target });
            return None;
        }
        let parent = place.parent().and_then(|parent| parent.canonicalize().ok());
        if parent.is_none_or(|parent| parent.starts_with(&real)) {
            self.fault(path, FileFault::LinkLoop { target });
            return None;
        }
        match fs::metadata(&real) {
            Ok(metadata) => Some(metadata.file_type()),
            Err(error) => {
                self.fault(path, FileFault::Unreadable(error.into()));
                None
            }
        }
    }
}

//! Reads the sources of a compilation from the host, and checks sources in memory.
//!
//! The author of a package must not be able to pass other files of the host to a compiler.
//! Therefore only regular files are read, and a symbolic link is followed only if its target is
//! below a root.

use super::error::{
    CompileError, InternalError, MAX_INCLUDED_FILES, MAX_SOURCE_MIB, Refusal, SourceAction,
    SourceFault,
};
use crate::files::{MAX_STORED_FILES, SourceFile};
use crate::staging::below;
use crate::suite::Suite;
use millibox_package::Constants;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use std::collections::HashSet;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Maximum total size in bytes of all sources.
const MAX_SOURCE_BYTES: u64 = MAX_SOURCE_MIB << 20;
/// Maximum total size in bytes of all sources after constants have been replaced by their values.
const MAX_FILLED_BYTES: usize = 64 << 20;

/// Reads sources. Their names are relative to the directory that they have in common.
///
/// Only regular files are read. A symbolic link below that directory is followed only if it leads
/// to a file below `root`.
pub(super) fn read(
    paths: &[PathBuf],
    suite: &Suite,
    headers_beside: bool,
    root: Option<&Path>,
) -> Result<Vec<SourceFile>, CompileError> {
    check_count(paths.len())?;
    let mut paths: Vec<PathBuf> = paths
        .iter()
        .map(|path| {
            std::path::absolute(path).map_err(|error| failed(SourceAction::Resolve, path)(error))
        })
        .collect::<Result<_, _>>()?;
    if headers_beside {
        let beside = headers(&paths, suite, root)?;
        paths.extend(beside);
    }
    let base = common_directory(&paths).ok_or(InternalError::NoCommonDirectory)?;
    read_below(&base, &paths, root)
}

/// Checks sources that were not read from the host. Other properties of their names are checked
/// when the sources are stored.
pub(super) fn check(files: &[SourceFile]) -> Result<(), Refusal> {
    check_count(files.len())?;
    let mut bytes: u64 = 0;
    for file in files {
        let fault = |fault: SourceFault| Refusal::Source {
            path: file.name.clone(),
            fault,
        };
        check_name(&file.name).map_err(fault)?;
        bytes += file.bytes.len() as u64;
        if bytes > MAX_SOURCE_BYTES {
            return Err(fault(SourceFault::TooLong));
        }
    }
    Ok(())
}

fn check_count(count: usize) -> Result<(), Refusal> {
    match count {
        0 => Err(Refusal::NoSources),
        count if count > MAX_STORED_FILES => Err(Refusal::TooManySources(count)),
        _ => Ok(()),
    }
}

/// Checks for braces, which commands interpret, and control characters, which terminals interpret.
fn check_name(name: &Path) -> Result<(), SourceFault> {
    let bad = |byte: &u8| byte.is_ascii_control() || b"{}".contains(byte);
    match name.as_os_str().as_bytes().iter().any(bad) {
        true => Err(SourceFault::Name),
        false => Ok(()),
    }
}

fn failed(action: SourceAction, path: &Path) -> impl Fn(std::io::Error) -> InternalError {
    move |error| InternalError::Source {
        path: path.to_owned(),
        action,
        cause: error.into(),
    }
}

/// Replaces the names of constants in the sources by their values.
pub(super) fn fill(
    mut files: Vec<SourceFile>,
    constants: &Constants,
) -> Result<Vec<SourceFile>, Refusal> {
    let mut left = MAX_FILLED_BYTES;
    for file in &mut files {
        let filled = constants
            .fill(&file.bytes, left)
            .map_err(|error| Refusal::Source {
                path: file.name.clone(),
                fault: SourceFault::Constants(error),
            })?;
        if let Some(filled) = filled {
            left -= filled.len();
            file.bytes = filled;
        }
    }
    Ok(files)
}

/// Adds the files below a directory. They replace sources of the same names. Links are followed in
/// the same way as by [`read`].
pub(super) fn include(
    mut files: Vec<SourceFile>,
    directory: &Path,
    constants: &Constants,
    root: Option<&Path>,
) -> Result<Vec<SourceFile>, CompileError> {
    let directory =
        std::path::absolute(directory).map_err(failed(SourceAction::Resolve, directory))?;
    let real_root = root.and_then(|root| root.canonicalize().ok());
    let leads_to_directory = |link: &Path| {
        let real = link.canonicalize().ok().filter(|real| real.is_dir());
        real.zip(real_root.as_ref())
            .is_some_and(|(real, root)| real.starts_with(root))
    };
    let mut seen = 0;
    let mut paths = Vec::new();
    let mut waiting = vec![directory.clone()];
    while let Some(next) = waiting.pop() {
        let failed = failed(SourceAction::List, &next);
        for entry in std::fs::read_dir(&next).map_err(&failed)? {
            let entry = entry.map_err(&failed)?;
            // A few links can multiply paths, and the limits of a package do not count hidden
            // files.
            seen += 1;
            if seen > MAX_INCLUDED_FILES {
                return Err(InternalError::TooManyIncluded(directory).into());
            }
            match entry.file_type().map_err(&failed)? {
                kind if kind.is_dir() => waiting.push(entry.path()),
                kind if kind.is_symlink() && leads_to_directory(&entry.path()) => {
                    waiting.push(entry.path())
                }
                _ => paths.push(entry.path()),
            }
        }
    }
    // The compiler receives the files in this order, and the cache key depends on it.
    paths.sort();
    // The files belong to the package, so a fault in them is not the submission's fault.
    let included = read_below(&directory, &paths, root).map_err(of_package)?;
    let included = fill(included, constants).map_err(|refusal| of_package(refusal.into()))?;
    files.retain(|file| included.iter().all(|other| other.name != file.name));
    files.extend(included);
    Ok(files)
}

fn of_package(error: CompileError) -> CompileError {
    match error {
        CompileError::Refused(refusal) => InternalError::Included(Box::new(refusal)).into(),
        other => other,
    }
}

fn read_below(
    base: &Path,
    paths: &[PathBuf],
    root: Option<&Path>,
) -> Result<Vec<SourceFile>, CompileError> {
    let open = |path: &Path| {
        openat(
            CWD,
            path,
            OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(|errno| failed(SourceAction::OpenDirectory, path)(errno.into()))
    };
    let strict = SourceRoot {
        directory: open(base)?,
        path: base.to_owned(),
        links: ResolveFlags::NO_SYMLINKS,
    };
    let root = root.map(|root| std::path::absolute(root).unwrap_or_else(|_| root.to_owned()));
    let place = match root.filter(|root| below(base, root).is_some()) {
        Some(root) => SourceRoot {
            directory: open(&root)?,
            path: root,
            links: ResolveFlags::empty(),
        },
        None => strict,
    };
    let mut left = MAX_SOURCE_BYTES;
    let mut files: Vec<SourceFile> = Vec::new();
    let mut seen = HashSet::new();
    for path in paths {
        let name = path.strip_prefix(base).unwrap_or(path);
        if !seen.insert(name) {
            continue;
        }
        let mut file = read_file(&place, path, left)?;
        name.clone_into(&mut file.name);
        left -= file.bytes.len() as u64;
        files.push(file);
    }
    Ok(files)
}

/// The directory below which files are opened.
struct SourceRoot {
    directory: OwnedFd,
    path: PathBuf,
    /// Whether symbolic links that stay below the directory are followed (openat2(2)).
    links: ResolveFlags,
}

/// Maximum number of attempts to open a file while directories are renamed or mounts change. One
/// attempt takes microseconds.
const OPEN_ATTEMPTS: usize = 10_000;

/// Opens a file below the root, even if links on the path contain `..`.
fn open_below(place: &SourceRoot, name: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | place.links;
    let open = || openat2(&place.directory, name, flags, Mode::empty(), resolve);
    // EAGAIN means that a rename or a change of mounts happened meanwhile, anywhere on the machine,
    // so the kernel cannot tell where `..` leads (handle_dots in fs/namei.c).
    let mut opened = open();
    for _ in 1..OPEN_ATTEMPTS {
        if !matches!(opened, Err(Errno::AGAIN)) {
            break;
        }
        opened = open();
    }
    opened
}

/// Reads a file of at most `max_bytes` bytes.
fn read_file(place: &SourceRoot, path: &Path, max_bytes: u64) -> Result<SourceFile, CompileError> {
    let refused = |fault: SourceFault| {
        CompileError::from(Refusal::Source {
            path: path.to_owned(),
            fault,
        })
    };
    let failed = |action| move |error| CompileError::from(failed(action, path)(error));
    let name = path.strip_prefix(&place.path).unwrap_or(path);
    check_name(name).map_err(refused)?;
    let file = open_below(place, name).map_err(|errno| match errno {
        Errno::LOOP => refused(SourceFault::Link),
        Errno::XDEV => refused(SourceFault::LinkOutside),
        Errno::NXIO => refused(SourceFault::NotRegular),
        Errno::ACCESS if is_closed_to_owner(place, name) => refused(SourceFault::Mode),
        errno => failed(SourceAction::Open)(errno.into()),
    })?;
    let mut file = std::fs::File::from(file);
    let metadata = file.metadata().map_err(failed(SourceAction::Inspect))?;
    if !metadata.is_file() {
        return Err(refused(SourceFault::NotRegular));
    }
    let mut bytes = Vec::new();
    file.by_ref()
        .take(max_bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(failed(SourceAction::Read))?;
    if bytes.len() as u64 > max_bytes {
        return Err(refused(SourceFault::TooLong));
    }
    Ok(SourceFile {
        name: name.to_owned(),
        executable: metadata.mode() & 0o100 != 0,
        bytes,
    })
}

/// Whether this user owns the file and only its mode denies read access. The mode is part of the
/// submission.
fn is_closed_to_owner(place: &SourceRoot, name: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    rustix::fs::statat(&place.directory, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|file| file.st_uid == user && file.st_mode & 0o400 == 0)
}

/// Returns the headers in the directories of the sources.
fn headers(
    paths: &[PathBuf],
    suite: &Suite,
    root: Option<&Path>,
) -> Result<Vec<PathBuf>, InternalError> {
    let mut directories: Vec<&Path> = paths.iter().filter_map(|path| path.parent()).collect();
    directories.sort();
    directories.dedup();
    let mut headers = Vec::new();
    for directory in directories {
        let found =
            headers_in(directory, suite, root).map_err(failed(SourceAction::List, directory))?;
        headers.extend(found);
    }
    headers.sort();
    Ok(headers)
}

/// Returns the headers in a directory: regular files, and links to regular files below `root`.
///
/// # Errors
/// The directory cannot be read.
pub fn headers_in(
    directory: &Path,
    suite: &Suite,
    root: Option<&Path>,
) -> std::io::Result<Vec<PathBuf>> {
    let root = root.and_then(|root| root.canonicalize().ok());
    let leads_to_file = |link: &Path| {
        let real = link.canonicalize().ok().filter(|real| real.is_file());
        real.zip(root.as_ref())
            .is_some_and(|(real, root)| real.starts_with(root))
    };
    let mut headers = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        let is_file =
            |kind: std::fs::FileType| kind.is_file() || (kind.is_symlink() && leads_to_file(&path));
        if suite.is_header(&path) && entry.file_type().is_ok_and(is_file) {
            headers.push(path);
        }
    }
    Ok(headers)
}

fn common_directory(paths: &[PathBuf]) -> Option<PathBuf> {
    let mut common = paths.first()?.parent()?.to_owned();
    for path in paths {
        while !path.parent()?.starts_with(&common) {
            common.pop();
        }
    }
    Some(common)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::input::{compiled, main_source};
    use crate::suite::Suites;

    fn names(files: &[SourceFile]) -> Vec<&str> {
        files.iter().filter_map(|file| file.name.to_str()).collect()
    }

    #[test]
    fn read_names_files_from_common_directory() {
        let suites = Suites::builtin();
        let suite = suites.named("cpp").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir_all(at("a/b")).unwrap();
        for name in [
            "a/main.cc",
            "a/b/more.cc",
            "a/main.h",
            "a/b/more.hpp",
            "a/notes.txt",
        ] {
            std::fs::write(at(name), name).unwrap();
        }
        let read = |paths: &[&str], beside| {
            super::read(
                &paths.iter().map(|path| at(path)).collect::<Vec<_>>(),
                suite,
                beside,
                None,
            )
        };
        assert_eq!(names(&read(&["a/main.cc"], false).unwrap()), ["main.cc"]);
        assert_eq!(
            names(&read(&["a/main.cc", "a/b/more.cc"], false).unwrap()),
            ["main.cc", "b/more.cc"]
        );
        assert_eq!(
            names(&read(&["a/main.cc"], true).unwrap()),
            ["main.cc", "main.h"]
        );
        // Several programs may share a header through links. Links out of the package are ignored.
        std::os::unix::fs::symlink("b/more.hpp", at("a/link.h")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", at("a/out.h")).unwrap();
        assert_eq!(
            names(&read(&["a/main.cc"], true).unwrap()),
            ["main.cc", "main.h"]
        );
        let below = super::read(&[at("a/main.cc")], suite, true, Some(directory.path())).unwrap();
        assert_eq!(names(&below), ["main.cc", "link.h", "main.h"]);
        assert_eq!(below[1].bytes, b"a/b/more.hpp");
        let all = read(&["a/b/more.cc", "a/main.cc", "a/main.cc", "a/main.h"], true).unwrap();
        assert_eq!(
            names(&all),
            ["b/more.cc", "main.cc", "main.h", "b/more.hpp"]
        );
        assert_eq!(
            compiled(&all, suite),
            [Path::new("b/more.cc"), Path::new("main.cc")]
        );
        let chosen = |wanted| {
            main_source(&compiled(&all, suite), suite, wanted)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(
            (chosen(None), chosen(Some("main")), chosen(Some("main.cc"))),
            ("b/more.cc".into(), "main.cc".into(), "main.cc".into())
        );
    }

    #[test]
    fn included_files_replace_sources_of_same_name() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir_all(at("more/deep")).unwrap();
        for name in ["a.cc", "b.h", "more/b.h", "more/deep/c.h"] {
            std::fs::write(at(name), name).unwrap();
        }
        let suites = Suites::builtin();
        let sources = read(
            &[at("a.cc"), at("b.h")],
            suites.named("cpp").unwrap(),
            false,
            None,
        )
        .unwrap();
        let all = include(sources, &at("more"), &Constants::default(), None).unwrap();
        assert_eq!(names(&all), ["a.cc", "b.h", "deep/c.h"]);
        assert_eq!(all[1].bytes, b"more/b.h");
        std::os::unix::fs::symlink("../b.h", at("more/d.h")).unwrap();
        let add = |root| include(Vec::new(), &at("more"), &Constants::default(), root);
        assert!(is_fault(add(None), &SourceFault::Link));
        // Links within the package are followed.
        assert_eq!(
            names(&add(Some(directory.path())).unwrap()),
            ["b.h", "d.h", "deep/c.h"]
        );
        std::os::unix::fs::symlink("../more/deep", at("more/deeper")).unwrap();
        assert_eq!(
            names(&add(Some(directory.path())).unwrap()),
            ["b.h", "d.h", "deep/c.h", "deeper/c.h"]
        );
        std::os::unix::fs::symlink("/etc/passwd", at("more/e.h")).unwrap();
        assert!(is_fault(
            add(Some(directory.path())),
            &SourceFault::LinkOutside
        ));
    }

    /// Whether an included file has this fault.
    fn is_fault(result: Result<Vec<SourceFile>, CompileError>, expected: &SourceFault) -> bool {
        let Err(CompileError::Internal(InternalError::Included(refusal))) = result else {
            return false;
        };
        matches!(*refusal, Refusal::Source { fault, .. } if fault == *expected)
    }

    #[test]
    fn include_with_multiplying_links_stops_at_limit() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: String| directory.path().join(name);
        for level in 0..16 {
            std::fs::create_dir(at(level.to_string())).unwrap();
            for name in ["x", "y"] {
                std::os::unix::fs::symlink(
                    format!("../{}", level + 1),
                    at(format!("{level}/{name}")),
                )
                .unwrap();
            }
        }
        std::fs::create_dir(at("16".to_owned())).unwrap();
        let all = include(
            Vec::new(),
            &at("0".to_owned()),
            &Constants::default(),
            Some(directory.path()),
        );
        assert_eq!(
            all,
            Err(InternalError::TooManyIncluded(at("0".to_owned())).into())
        );
    }

    #[test]
    fn read_rejects_links_and_special_files() {
        let suites = Suites::builtin();
        let suite = suites.named("c").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir(at("d")).unwrap();
        std::fs::write(at("d/x.c"), "").unwrap();
        std::fs::write(at("{main}.c"), "").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", at("link.c")).unwrap();
        std::os::unix::fs::symlink("d", at("e")).unwrap();
        let error = |names: &[&str]| {
            let paths: Vec<PathBuf> = names.iter().map(|name| at(name)).collect();
            super::read(&paths, suite, false, None).unwrap_err()
        };
        let refused = |name: &str, fault: SourceFault| {
            CompileError::from(Refusal::Source {
                path: at(name),
                fault,
            })
        };
        assert_eq!(error(&["link.c"]), refused("link.c", SourceFault::Link));
        assert_eq!(
            error(&["{main}.c", "e/x.c"]),
            refused("{main}.c", SourceFault::Name)
        );
        assert_eq!(
            error(&["d/x.c", "e/x.c"]),
            refused("e/x.c", SourceFault::Link)
        );
        assert_eq!(error(&["d"]), refused("d", SourceFault::NotRegular));
        assert_eq!(error(&[]), Refusal::NoSources.into());
        let CompileError::Internal(InternalError::Source { action, cause, .. }) =
            error(&["none.c"])
        else {
            panic!("a missing file was read or refused")
        };
        assert_eq!(
            (action, cause.raw_os_error()),
            (SourceAction::Open, Some(Errno::NOENT.raw_os_error()))
        );

        // Links within the package are followed.
        std::os::unix::fs::symlink("../d/x.c", at("d/y.c")).unwrap();
        let read = |name: &str| super::read(&[at(name)], suite, false, Some(directory.path()));
        assert_eq!(names(&read("d/y.c").unwrap()), ["y.c"]);
        assert_eq!(names(&read("e/x.c").unwrap()), ["x.c"]);
        assert_eq!(
            read("link.c"),
            Err(refused("link.c", SourceFault::LinkOutside))
        );
    }

    #[test]
    fn links_are_followed_while_files_are_renamed() {
        let suites = Suites::builtin();
        let suite = suites.named("c").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir(at("d")).unwrap();
        std::fs::write(at("d/x.c"), "").unwrap();
        std::os::unix::fs::symlink("../d/x.c", at("d/y.c")).unwrap();
        let is_done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::fs::write(at("old"), "").unwrap();
                while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                    std::fs::rename(at("old"), at("new")).unwrap();
                    std::fs::rename(at("new"), at("old")).unwrap();
                }
            });
            let read = |_| super::read(&[at("d/y.c")], suite, false, Some(directory.path()));
            let all: Result<Vec<_>, _> = (0..10_000).map(read).collect();
            is_done.store(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(all.map(|all| all.len()), Ok(10_000));
        });
    }

    #[test]
    fn check_rejects_names_that_commands_interpret() {
        let file = |name: &str| SourceFile::new(name, "x");
        assert_eq!(check(&[file("a b.c"), file("-o")]), Ok(()));
        assert_eq!(check(&[]), Err(Refusal::NoSources));
        for name in ["{main}.c", "a\n.c"] {
            assert_eq!(
                check(&[file(name)]),
                Err(Refusal::Source {
                    path: name.into(),
                    fault: SourceFault::Name
                })
            );
        }
    }
}

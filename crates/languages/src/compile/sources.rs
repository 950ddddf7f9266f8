//! The sources of a compilation, read from the host.

use super::CompileError;
use crate::files::{File, MAX_STORED_FILES};
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

/// Bytes that all sources may have together.
const MAX_SOURCE_BYTES: u64 = 64 << 20;
/// Files and directories that a directory of included ones may have.
const MAX_INCLUDED_FILES: usize = 10_000;

/// Reads the sources, named as seen from the directory that they have in common.
///
/// Only regular files are read, and no symbolic link below that directory is followed, but those
/// that lead to somewhere below `root`: a package from somewhere could make the compiler show us
/// any file that we can read.
pub(super) fn read(
    paths: &[PathBuf],
    suite: &Suite,
    headers_beside: bool,
    root: Option<&Path>,
) -> Result<Vec<File>, CompileError> {
    let refused = |why: String| Err(CompileError::Refused(why));
    let judge = CompileError::Judge;
    if paths.is_empty() {
        return refused("there are no sources".to_owned());
    }
    if paths.len() > MAX_STORED_FILES {
        return refused(format!(
            "there are {} sources, and at most {MAX_STORED_FILES} are allowed",
            paths.len()
        ));
    }
    let mut paths: Vec<PathBuf> = paths
        .iter()
        .map(|path| {
            std::path::absolute(path).map_err(|error| judge(format!("{}: {error}", path.display())))
        })
        .collect::<Result<_, _>>()?;
    if headers_beside {
        let beside = headers(&paths, suite, root).map_err(judge)?;
        paths.extend(beside);
    }
    let base = common_directory(&paths)
        .ok_or_else(|| judge("the sources have no directory in common".to_owned()))?;
    read_below(&base, &paths, root)
}

/// Bytes that the sources with constants in them may have together, with the values filled in.
const MAX_FILLED_BYTES: usize = 64 << 20;

/// Puts constants' values in the place of their names.
pub(super) fn fill(
    mut files: Vec<File>,
    constants: Option<&Constants>,
) -> Result<Vec<File>, String> {
    let Some(constants) = constants else {
        return Ok(files);
    };
    let mut left = MAX_FILLED_BYTES;
    for file in &mut files {
        let filled = constants.fill(&file.bytes, left);
        if let Some(filled) = filled.map_err(|error| format!("{}: {error}", file.name.display()))? {
            left -= filled.len();
            file.bytes = filled;
        }
    }
    Ok(files)
}

/// Adds the files of a directory, and of those in it, in place of those of the same names. Links
/// are followed as by [`read`].
pub(super) fn include(
    mut files: Vec<File>,
    directory: &Path,
    constants: &Constants,
    root: Option<&Path>,
) -> Result<Vec<File>, String> {
    let directory = std::path::absolute(directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
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
        let failed = |error: std::io::Error| {
            format!("cannot read the directory {}: {error}", next.display())
        };
        for entry in std::fs::read_dir(&next).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            // A few links can make very many paths, and reading a package passes over hidden ones.
            seen += 1;
            if seen > MAX_INCLUDED_FILES {
                let directory = directory.display();
                return Err(format!(
                    "{directory}: has more than {MAX_INCLUDED_FILES} files; remove some, or links to \
                     many"
                ));
            }
            match entry.file_type().map_err(failed)? {
                kind if kind.is_dir() => waiting.push(entry.path()),
                kind if kind.is_symlink() && leads_to_directory(&entry.path()) => {
                    waiting.push(entry.path())
                }
                _ => paths.push(entry.path()),
            }
        }
    }
    // The order of the files is what a compiler is told, and what the cache knows.
    paths.sort();
    // The files are the package's: an error in them is not the submission's.
    let included = read_below(&directory, &paths, root).map_err(|error| error.to_string());
    let included = fill(included?, Some(constants))?;
    files.retain(|file| included.iter().all(|other| other.name != file.name));
    files.extend(included);
    Ok(files)
}

fn read_below(
    base: &Path,
    paths: &[PathBuf],
    root: Option<&Path>,
) -> Result<Vec<File>, CompileError> {
    let open = |path: &Path| {
        openat(
            CWD,
            path,
            OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(|errno| {
            CompileError::Judge(format!(
                "cannot open the directory {}: {errno}",
                path.display()
            ))
        })
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
    let mut files: Vec<File> = Vec::new();
    let mut seen = HashSet::new();
    for path in paths {
        let name = path.strip_prefix(base).unwrap_or(path);
        if !seen.insert(name) {
            continue;
        }
        let mut file = read_file(&place, path, left).map_err(|error| error.of(path))?;
        name.clone_into(&mut file.name);
        left -= file.bytes.len() as u64;
        files.push(file);
    }
    Ok(files)
}

/// Where files are looked for, and nowhere else.
struct SourceRoot {
    directory: OwnedFd,
    path: PathBuf,
    /// What is said of links that stay there.
    links: ResolveFlags,
}

/// Why a source cannot be read.
enum SourceError {
    /// It is no file that a submission may have: the submission's own fault.
    Own(String),
    /// The host fails to read it.
    Host(String),
}

impl SourceError {
    fn of(self, path: &Path) -> CompileError {
        // Its name may be the fault, and must not command a terminal.
        let path = path.display().to_string().escape_debug().to_string();
        match self {
            SourceError::Own(why) => CompileError::Refused(format!("{path}: {why}")),
            SourceError::Host(why) => CompileError::Judge(format!("{path}: {why}")),
        }
    }
}

fn read_file(place: &SourceRoot, path: &Path, most: u64) -> Result<File, SourceError> {
    use SourceError::{Host, Own};
    let name = path.strip_prefix(&place.path).unwrap_or(path);
    // They stand for something in commands, or command a terminal.
    let bad = |byte: &u8| byte.is_ascii_control() || b"{}".contains(byte);
    if name.as_os_str().as_bytes().iter().any(bad) {
        return Err(Own(
            "names of sources cannot have braces or control characters; rename it".to_owned(),
        ));
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | place.links;
    let file =
        openat2(&place.directory, name, flags, Mode::empty(), resolve).map_err(
            |errno| match errno {
                Errno::LOOP => Own(
                    "it is a symbolic link, or lies behind one; give the file itself".to_owned(),
                ),
                Errno::XDEV => Own(
                    "it is a symbolic link that leads out of its package, or begins with /"
                        .to_owned(),
                ),
                Errno::NXIO => Own("it is not a regular file".to_owned()),
                Errno::ACCESS if is_closed_to_owner(place, name) => {
                    Own("its mode forbids even its owner to read it".to_owned())
                }
                errno => Host(format!("cannot open it: {errno}")),
            },
        )?;
    let mut file = std::fs::File::from(file);
    let metadata = file.metadata().map_err(|error| Host(error.to_string()))?;
    if !metadata.is_file() {
        return Err(Own("it is not a regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    file.by_ref()
        .take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Host(format!("cannot read it: {error}")))?;
    if bytes.len() as u64 > most {
        return Err(Own(format!(
            "the sources have more than {} MiB together",
            MAX_SOURCE_BYTES >> 20
        )));
    }
    Ok(File {
        name: name.to_owned(),
        executable: metadata.mode() & 0o100 != 0,
        bytes,
    })
}

/// Whether a file of our own cannot be read for its mode alone, which is part of what was
/// submitted.
fn is_closed_to_owner(place: &SourceRoot, name: &Path) -> bool {
    let us = rustix::process::geteuid().as_raw();
    rustix::fs::statat(&place.directory, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|file| file.st_uid == us && file.st_mode & 0o400 == 0)
}

/// Headers in the directories of the sources.
fn headers(paths: &[PathBuf], suite: &Suite, root: Option<&Path>) -> Result<Vec<PathBuf>, String> {
    let mut directories: Vec<&Path> = paths.iter().filter_map(|path| path.parent()).collect();
    directories.sort();
    directories.dedup();
    let mut headers = Vec::new();
    for directory in directories {
        let found = headers_in(directory, suite, root)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        headers.extend(found);
    }
    headers.sort();
    Ok(headers)
}

/// The headers in a directory: regular files, and links to such below `root`.
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

/// Names of the files that are compiled: those with an extension of the suite; if none has one, all
/// that are no headers.
pub(super) fn compiled<'f>(files: &'f [File], suite: &Suite) -> Vec<&'f Path> {
    let names = || files.iter().map(|file| file.name.as_path());
    let known: Vec<&Path> = names().filter(|name| suite.compiles(name)).collect();
    if known.is_empty() {
        names().filter(|name| !suite.is_header(name)).collect()
    } else {
        known
    }
}

/// The main one of the files that are compiled. If no name tells, the suite's first extension is
/// that of programs, rather than of what they use.
pub(super) fn main_source<'f>(
    compiled: &[&'f Path],
    suite: &Suite,
    wanted: Option<&str>,
) -> Option<&'f Path> {
    let known_as = |path: &Path| {
        suite
            .sources
            .extensions
            .iter()
            .position(|known| path.extension() == Some(known.as_ref()))
    };
    let called = |name: &str| {
        compiled
            .iter()
            .find(|path| path.as_os_str() == name || path.file_stem() == Some(name.as_ref()))
            .copied()
    };
    wanted
        .and_then(called)
        .or_else(|| suite.sources.main.iter().find_map(|name| called(name)))
        .or_else(|| compiled.iter().copied().min_by_key(|path| known_as(path)))
}

/// The name as an argument: none that begins like an option, or like a list of arguments (`@file`).
pub(super) fn argument(name: &Path) -> std::ffi::OsString {
    match name.as_os_str().as_bytes().first() {
        Some(b'-' | b'@' | b'+') => Path::new(".").join(name).into_os_string(),
        _ => name.as_os_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Suites;

    fn names(files: &[File]) -> Vec<&str> {
        files.iter().filter_map(|file| file.name.to_str()).collect()
    }

    #[test]
    fn names_are_seen_from_the_common_directory() {
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
        // Several programs may share one; what is not the package's is not there.
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
    fn included_files_replace_those_of_their_names() {
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
        assert!(add(None).unwrap_err().contains("it is a symbolic link"));
        // Below a package, links that stay there are no secret.
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
        assert!(
            add(Some(directory.path()))
                .unwrap_err()
                .contains("leads out of its package")
        );
    }

    #[test]
    fn few_links_that_make_many_paths() {
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
        assert!(
            all.unwrap_err()
                .contains("0: has more than 10000 files; remove some")
        );
    }

    #[test]
    fn only_regular_files_are_read() {
        let suites = Suites::builtin();
        let suite = suites.named("c").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir(at("d")).unwrap();
        std::fs::write(at("d/x.c"), "").unwrap();
        std::fs::write(at("{main}.c"), "").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", at("link.c")).unwrap();
        std::os::unix::fs::symlink("d", at("e")).unwrap();
        let why = |names: &[&str]| {
            super::read(
                &names.iter().map(|name| at(name)).collect::<Vec<_>>(),
                suite,
                false,
                None,
            )
            .unwrap_err()
        };
        assert!(
            why(&["link.c"])
                .to_string()
                .contains("it is a symbolic link")
        );
        assert!(why(&["{main}.c", "e/x.c"]).to_string().contains("braces"));
        assert!(
            why(&["d/x.c", "e/x.c"])
                .to_string()
                .contains("lies behind one")
        );
        assert!(why(&["d"]).to_string().contains("not a regular file"));
        assert!(
            why(&["none.c"])
                .to_string()
                .contains("cannot open it: No such file")
        );
        assert!(matches!(why(&["link.c"]), CompileError::Refused(_)));
        assert!(matches!(why(&["none.c"]), CompileError::Judge(_)));
        assert!(why(&[]).to_string().contains("no sources"));

        // Below a package, links that stay there are no secret.
        std::os::unix::fs::symlink("../d/x.c", at("d/y.c")).unwrap();
        let read = |name: &str| super::read(&[at(name)], suite, false, Some(directory.path()));
        assert_eq!(names(&read("d/y.c").unwrap()), ["y.c"]);
        assert_eq!(names(&read("e/x.c").unwrap()), ["x.c"]);
        assert!(
            read("link.c")
                .unwrap_err()
                .to_string()
                .contains("leads out of its package")
        );
    }

    #[test]
    fn names_are_no_options() {
        assert_eq!(argument(Path::new("-o")), "./-o");
        assert_eq!(argument(Path::new("@x.c")), "./@x.c");
        assert_eq!(argument(Path::new("a b.c")), "a b.c");
    }
}

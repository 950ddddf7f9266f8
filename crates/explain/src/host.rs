//! Looks up paths on the host.
//!
//! A look-up must neither mount an automount nor wait for a file system that hangs. So it uses what
//! the kernel has cached (`RESOLVE_CACHED`), and otherwise stays on the root file system: a path on
//! another file system that the kernel has not cached counts as missing. The kernel mounts an
//! automount when it is a directory of a path, but not when it is the last component of a path that
//! is only opened as a place (`O_PATH`). So each component is opened by itself.

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, StatxFlags, openat2, readlinkat, statx,
};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// The maximum number of symbolic links in a path (path_resolution(7)).
pub const MAX_LINKS: usize = 40;
/// The maximum number of directories that a look-up keeps open.
const MAX_DEPTH: usize = 64;
/// The number of attempts to look up a path before it counts as not cached: the kernel also gives
/// up while another process mounts a file system.
const CACHED_ATTEMPTS: usize = 16;

const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// What is at a path of the host.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// A symbolic link with this target.
    Link(PathBuf),
    Other,
}

/// Whether a path of the host leads to a file. The links of /proc are not followed, and its
/// processes do not exist here, because a run must not learn which processes the host has.
pub fn exists(path: &Path) -> bool {
    let mut parts = path.components().skip(1);
    if parts.next() == Some(Component::Normal("proc".as_ref())) {
        let is_process = parts.any(|part| {
            let name = part.as_os_str().as_bytes();
            part == Component::ParentDir || name.iter().all(u8::is_ascii_digit)
        });
        return !is_process && look_up_in_proc(path).is_some();
    }
    look_up(path, true).is_some()
}

/// What is at an absolute path, without following a link at its end.
pub fn find(path: &Path) -> Option<Found> {
    let file = look_up(path, false)?;
    Some(match is_link(&file)? {
        true => Found::Link(target(&file)?),
        false => Found::Other,
    })
}

fn look_up(path: &Path, follows_last: bool) -> Option<OwnedFd> {
    if !path.is_absolute() || path.as_os_str().as_bytes().contains(&0) {
        return None;
    }
    let mut flags = PLACE;
    flags.set(OFlags::NOFOLLOW, !follows_last);
    let resolve = ResolveFlags::CACHED | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..CACHED_ATTEMPTS {
        match openat2(CWD, path, flags, Mode::empty(), resolve) {
            Ok(file) => return is_link(&file).map(|_| file),
            Err(Errno::AGAIN) => {}
            Err(_) => return None,
        }
    }
    walk(Path::new("/"), path, follows_last)
}

/// Looks up a path in /proc. The kernel does not cache most of its names, but never waits for them.
fn look_up_in_proc(path: &Path) -> Option<OwnedFd> {
    let proc = Path::new("/proc");
    walk(proc, path.strip_prefix(proc).ok()?, false)
}

/// Looks up a path on the file system at a root, one component after the other.
fn walk(root: &Path, path: &Path, follows_last: bool) -> Option<OwnedFd> {
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_MAGICLINKS;
    let open = |directory: &OwnedFd, name: &Path| {
        let flags = PLACE | OFlags::NOFOLLOW;
        openat2(directory, name, flags, Mode::empty(), resolve).ok()
    };
    let start = openat2(CWD, root, PLACE, Mode::empty(), ResolveFlags::empty()).ok()?;
    let mut directories = vec![start];
    let mut links = 0;
    let mut left: VecDeque<PathBuf> = parts(path);
    while let Some(part) = left.pop_front() {
        if part == Path::new("..") {
            if directories.len() > 1 {
                directories.pop();
            }
            continue;
        }
        let file = open(directories.last()?, &part)?;
        if is_link(&file)? && (follows_last || !left.is_empty()) {
            links += 1;
            if links > MAX_LINKS {
                return None;
            }
            let target = target(&file)?;
            if target.is_absolute() {
                if root != Path::new("/") {
                    return None;
                }
                directories.truncate(1);
            }
            for part in parts(&target).into_iter().rev() {
                left.push_front(part);
            }
            continue;
        }
        if directories.len() == MAX_DEPTH {
            return None;
        }
        directories.push(file);
    }
    directories.pop()
}

/// The components of a path, without `/` and `.`.
pub fn parts(path: &Path) -> VecDeque<PathBuf> {
    let part = |part: Component| match part {
        Component::Normal(_) | Component::ParentDir => Some(PathBuf::from(part.as_os_str())),
        _ => None,
    };
    path.components().filter_map(part).collect()
}

fn is_link(file: impl AsFd) -> Option<bool> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let found = statx(file, "", flags, StatxFlags::TYPE).ok()?;
    Some(FileType::from_raw_mode(found.stx_mode.into()) == FileType::Symlink)
}

fn target(file: impl AsFd) -> Option<PathBuf> {
    let target = readlinkat(file, "", Vec::new()).ok()?;
    Some(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walk_follows_links_and_stays_on_its_file_system() {
        // The root file system has this directory; /proc is a different one.
        let host = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let at = |name: &str| host.path().join(name);
        std::fs::create_dir(at("directory")).unwrap();
        std::fs::write(at("directory/file"), "").unwrap();
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, at(name)).unwrap();
        link("directory", "near");
        link(at("directory").to_str().unwrap(), "far");
        link("/proc/version", "away");
        link("loop", "loop");
        let root = Path::new("/");
        let is_found = |name: &str| walk(root, &at(name), true).is_some();
        if !is_found("directory") {
            // The checkout is on a file system of its own.
            return;
        }
        for name in ["near/file", "far/file", "near/../far/./file", "near"] {
            assert!(is_found(name), "{name}");
        }
        for name in ["none", "near/none", "away", "loop", "directory/file/x"] {
            assert!(!is_found(name), "{name}");
        }
        assert!(walk(root, Path::new("/proc/version"), true).is_none());
        assert!(walk(root, &at("away"), false).is_some());
        assert_eq!(find(&at("near")), Some(Found::Link("directory".into())));
        assert_eq!(find(&at("near/file")), Some(Found::Other));
        assert_eq!(find(&at("none")), None);
    }

    #[test]
    fn processes_of_the_host_do_not_exist() {
        for path in ["/proc/1", "/proc/1/stat", "/proc/./1", "/proc/self/../1"] {
            assert!(
                Path::new(path).exists() && !exists(Path::new(path)),
                "{path}"
            );
        }
        for path in [
            "/proc",
            "/proc/version",
            "/proc/self/status",
            "/proc/mounts",
        ] {
            assert!(exists(Path::new(path)), "{path}");
        }
        assert!(!exists(Path::new("/proc/none")));
    }
}

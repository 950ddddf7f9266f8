//! What compilers and programs see.

use crate::suite::{Surroundings, System};
use millibox::{Mount, World};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Places in every world.
pub(super) const SOURCE: &str = "/source";
pub(super) const OUTPUT: &str = "/output";
pub(super) const PREPARED: &str = "/prepared";
pub(super) const PROGRAM: &str = "/program";
/// Name of the one file that most compilers make.
pub(super) const EXECUTABLE: &str = "program";

/// Files and directories that a tmpfs of ours may have.
const MAX_TMPFS_INODES: u64 = 20_000;

/// Directories of libraries, for programs that need nothing else of the system.
const LIBRARY_DIRECTORIES: [&str; 5] = [
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/local/lib",
];

/// The system, what the suite names, the tools' installations.
pub(super) fn world(surroundings: &Surroundings, roots: &[PathBuf]) -> Result<World, String> {
    let mut world = World::empty();
    // It is the empty world's already.
    if surroundings.seccomp != "default" {
        let policy = millibox_seccomp::profile(&surroundings.seccomp)
            .ok_or_else(|| format!("there is no seccomp profile {:?}", surroundings.seccomp))?;
        world = world.seccomp(&policy).map_err(|error| error.to_string())?;
    }
    for mount in World::minimal().mounts() {
        let path = Path::new(OsStr::from_bytes(mount.path()));
        world = match surroundings.system {
            _ if path == Path::new("/tmp") => world,
            System::Libraries if path == Path::new("/usr") => LIBRARY_DIRECTORIES
                .iter()
                .filter(|path| Path::new(path).is_dir())
                .fold(world, |world, path| world.read_only(path, path)),
            System::Libraries if !of_libraries(path) => world,
            _ => world.mount(mount.clone()),
        };
    }
    // Before all that might lie below it.
    if surroundings.scratch > 0 {
        world = world.mount(tmpfs("/tmp", surroundings.scratch));
    }
    for root in roots {
        world = world.read_only(root, root);
    }
    for pattern in &surroundings.mounts {
        // The pattern was read before, and what cannot be read is not there.
        for path in glob::glob(pattern).into_iter().flatten().flatten() {
            world = world.read_only(&path, &path);
        }
    }
    if surroundings.proc {
        world = world.mount(Mount::Proc {
            at: b"/proc".to_vec(),
            processes_only: true,
        });
    }
    Ok(world)
}

fn of_libraries(path: &Path) -> bool {
    let top = path
        .iter()
        .nth(1)
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    top.starts_with("lib") || top == "dev" || path == Path::new("/etc/ld.so.cache")
}

/// A writable directory in memory that cannot grow beyond its size.
pub(super) fn tmpfs(at: &str, size: u64) -> Mount {
    Mount::Tmpfs {
        at: at.into(),
        size: Some(size),
        inodes: Some(MAX_TMPFS_INODES),
        mode: 0o1777,
        read_only: false,
        no_exec: false,
    }
}

/// Whether the world of [`System::All`] shows the path (which has no symbolic links).
pub(super) fn in_system(path: &Path) -> bool {
    World::minimal()
        .sources()
        .any(|source| path.starts_with(source))
}

//! The worlds of compilers and programs.

use crate::Cause;
use crate::suite::{Surroundings, System};
use millibox::{Mount, TmpfsMount, World};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Directories of the worlds.
pub(super) const SOURCE: &str = "/source";
pub(super) const OUTPUT: &str = "/output";
pub(super) const PREPARED: &str = "/prepared";
pub(super) const PROGRAM: &str = "/program";
/// Name of the file that most compilers write.
pub(super) const EXECUTABLE: &str = "program";

/// Maximum number of files and directories in a tmpfs.
const MAX_TMPFS_INODES: u64 = 20_000;

/// Directories of libraries, for programs that need only the system's libraries.
const LIBRARY_DIRECTORIES: [&str; 5] = [
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/local/lib",
];

/// Why a world cannot be described.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// No seccomp profile has this name.
    #[error("there is no seccomp profile {0:?}")]
    Profile(String),
    /// The seccomp profile cannot be compiled.
    #[error("{0}")]
    Policy(Cause<millibox::Error>),
}

/// Returns a world with the system, the mounts of the suite and the installations of its tools.
pub(super) fn world(surroundings: &Surroundings, roots: &[PathBuf]) -> Result<World, WorldError> {
    let mut world = World::empty();
    // The empty world already has the default profile.
    if surroundings.seccomp != "default" {
        let policy = millibox_seccomp::profile(&surroundings.seccomp)
            .ok_or_else(|| WorldError::Profile(surroundings.seccomp.clone()))?;
        world = world
            .seccomp(&policy)
            .map_err(|error| WorldError::Policy(error.into()))?;
    }
    for mount in World::standard().mounts() {
        let path = mount.path();
        world = match surroundings.system {
            _ if ["/tmp", "/proc"].map(Path::new).contains(&path) => world,
            System::Libraries if path == Path::new("/usr") => LIBRARY_DIRECTORIES
                .iter()
                .filter(|path| Path::new(path).is_dir())
                .fold(world, |world, path| world.read_only(path, path)),
            System::Libraries if !of_libraries(path) => world,
            _ => world.mount(mount.clone()),
        };
    }
    // Mount it before the mounts that may lie below it.
    if surroundings.scratch > 0 {
        world = world.mount(tmpfs("/tmp", surroundings.scratch));
    }
    for root in roots {
        world = world.read_only(root, root);
    }
    for pattern in &surroundings.mounts {
        // The pattern was checked when the suite was read. Paths that cannot be read are omitted.
        for path in glob::glob(pattern).into_iter().flatten().flatten() {
            if world.mounts().iter().any(|mount| mount.path() == path) {
                continue;
            }
            world = world.read_only(&path, &path);
        }
    }
    if surroundings.proc {
        world = world.mount(Mount::proc("/proc").system_files());
    }
    Ok(world)
}

fn of_libraries(path: &Path) -> bool {
    let top = path
        .iter()
        .nth(1)
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    top.starts_with("lib")
        || top == "dev"
        || top == "sys"
        || ["/etc", "/etc/ld.so.cache"].map(Path::new).contains(&path)
}

/// Returns a writable directory in memory, of at most `size` bytes.
pub(super) fn tmpfs(at: &str, size: u64) -> TmpfsMount {
    Mount::tmpfs(at)
        .size_limit(size)
        .inode_limit(MAX_TMPFS_INODES)
}

/// Whether the world of [`System::All`] contains the path. The path has no symbolic links.
pub(super) fn in_system(path: &Path) -> bool {
    World::minimal()
        .sources()
        .any(|source| path.starts_with(source))
}

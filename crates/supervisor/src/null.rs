//! The null device as a standard stream of a run whose request gives none.
//!
//! Status flags, the owner of signals and flock(2) locks belong to the open file, not to the
//! descriptor. So each run gets open files of its own. They are opened while the run is prepared,
//! through a read-only mount, because futimens(2) on any other mount would change the times of the
//! host's device.

use crate::prepared::Runner;
use crate::sys::ascii::Line;
use crate::sys::{Errno, Result, calls};
use core::ffi::CStr;

/// The access modes of the three standard streams.
const ACCESS: [i32; 3] = [libc::O_RDONLY, libc::O_WRONLY, libc::O_WRONLY];

/// The path of the device in the supervisor's mount namespace.
const PATH: &CStr = c"/dev/null";

/// Mounts the device read-only over itself, in the supervisor's mount namespace.
pub fn make_read_only() -> Result<()> {
    let flags = libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC;
    let null = calls::open_tree(libc::AT_FDCWD, PATH, flags)?;
    let attributes = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC;
    let mounted = calls::mount_setattr(null, c"", libc::AT_EMPTY_PATH as u32, attributes)
        .and_then(|()| calls::move_mount(null, libc::AT_FDCWD, PATH, libc::MOVE_MOUNT_T_SYMLINKS));
    let _ = calls::close(null);
    mounted
}

/// Opens the device on its read-only mount (`O_PATH`), for a runner, which leaves the supervisor's
/// mount namespace.
pub fn find() -> Result<i32> {
    calls::openat(libc::AT_FDCWD, PATH, libc::O_PATH, 0)
}

/// Opens the device for each standard stream. An exec closes the descriptors.
pub fn open(runner: &Runner) -> Result<[i32; 3]> {
    let path = path(runner);
    let mut streams = [-1; 3];
    for (stream, access) in streams.iter_mut().zip(ACCESS) {
        *stream = calls::openat(runner.procfs, c_str(&path), access, 0)?;
    }
    Ok(streams)
}

/// Replaces the three standard streams of this process, which are open.
pub fn replace_standard_streams(runner: &Runner) -> Result<()> {
    let path = path(runner);
    for (stream, access) in (0..).zip(ACCESS) {
        // The lowest free number is that of the stream.
        calls::close(stream)?;
        if calls::openat_for_exec(runner.procfs, c_str(&path), access)? != stream {
            return Err(Errno(libc::EBADF));
        }
    }
    Ok(())
}

/// The path of the device below /proc.
fn path(runner: &Runner) -> Line<32> {
    Line::new()
        .text(b"self/fd/")
        .number(runner.null as u64)
        .text(b"\0")
}

fn c_str(path: &Line<32>) -> &CStr {
    CStr::from_bytes_with_nul(path.as_bytes()).unwrap_or(c"")
}

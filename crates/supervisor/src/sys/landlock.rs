//! Landlock (landlock(7), Linux 5.13): restricts the files that a process may open, regardless of
//! their owner.

use super::{Result, raw};
use std::os::fd::{AsRawFd, BorrowedFd};

/// `LANDLOCK_ACCESS_FS_*` (landlock(7)): write to a file.
pub const WRITE_FILE: u64 = 1 << 1;
/// Read a file.
pub const READ_FILE: u64 = 1 << 2;
/// List a directory.
pub const READ_DIR: u64 = 1 << 3;
/// Remove a directory.
pub const REMOVE_DIR: u64 = 1 << 4;
/// Make a directory.
pub const MAKE_DIR: u64 = 1 << 7;
/// Truncate a file.
pub const TRUNCATE: u64 = 1 << 14;

/// The rights on files that this version of landlock knows. A ruleset handles all of these rights,
/// so only the rules of the ruleset grant them.
fn file_rights(version: u32) -> u64 {
    let count = match version {
        1 => 13,
        2 => 14,
        3 | 4 => 15,
        _ => 16,
    };
    (1 << count) - 1
}

/// The version of landlock in the kernel; 0 if the kernel has none, or it is disabled or forbidden.
fn version() -> u32 {
    const CREATE_RULESET_VERSION: usize = 1;
    // SAFETY: no attributes are read for this flag.
    unsafe {
        raw::syscall(
            libc::SYS_landlock_create_ruleset,
            [0, 0, CREATE_RULESET_VERSION, 0, 0],
        )
    }
    .map_or(0, |version| version as u32)
}

/// struct landlock_ruleset_attr
#[repr(C)]
struct Ruleset {
    files: u64,
    /// TCP, version 4.
    network: u64,
    /// Signals and abstract sockets, version 6.
    scoped: u64,
}

/// struct landlock_path_beneath_attr
#[repr(C, packed)]
struct Beneath {
    allowed: u64,
    parent: i32,
}

/// Restricts this process to files below the given directories, with the given rights for each
/// directory.
///
/// The process can also no longer open or accept TCP connections, or connect to abstract sockets of
/// processes outside its domain. Open descriptors stay usable. The caller must have set
/// no_new_privs. Returns the version of landlock in force. If the kernel has no landlock, returns 0
/// and changes nothing.
///
/// Signals are not scoped. The kernel sends the signal of a parent's death with the parent's
/// credentials, so the children would outlive this process (`reparent_leader()` in kernel/exit.c).
pub fn restrict(allowed: &[(BorrowedFd<'_>, u64)]) -> Result<u32> {
    let version = version();
    if version == 0 {
        return Ok(0);
    }
    let files = file_rights(version);
    let ruleset = Ruleset {
        files,
        network: 0b11,
        scoped: 0b01,
    };
    // An older kernel rejects fields that it does not know, unless they are 0.
    let size = match version {
        1..=3 => 8,
        4 | 5 => 16,
        _ => size_of::<Ruleset>(),
    };
    // SAFETY: `ruleset` is fully initialised and not shorter than `size`.
    let rules = unsafe {
        raw::syscall(
            libc::SYS_landlock_create_ruleset,
            [&raw const ruleset as usize, size, 0, 0, 0],
        )
    }?;
    let restricted = (|| {
        for (directory, rights) in allowed {
            const RULE_PATH_BENEATH: usize = 1;
            let rule = Beneath {
                allowed: rights & files,
                parent: directory.as_raw_fd(),
            };
            // SAFETY: `rule` is fully initialised and lives during the call.
            unsafe {
                raw::syscall(
                    libc::SYS_landlock_add_rule,
                    [rules, RULE_PATH_BENEATH, &raw const rule as usize, 0, 0],
                )
            }?;
        }
        // SAFETY: all arguments are numbers.
        unsafe { raw::syscall(libc::SYS_landlock_restrict_self, [rules, 0, 0, 0, 0]) }
    })();
    let _ = super::calls::close(rules as i32);
    restricted.map(|_| version)
}

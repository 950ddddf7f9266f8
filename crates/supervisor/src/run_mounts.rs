//! The mounts that belong to one run, and the capabilities that they need.
//!
//! pid1 carries the mounts out. The library of prepared programs (`crates/ready`) compiles this
//! file as well, for pid1s in the memory of a template. So nothing here allocates.

use crate::sys::{Errno, Result, calls};
use millibox_wire::Step;
use serde::{Deserialize, Serialize};
use std::ffi::CString;

/// A mount operation that pid1 carries out for each run.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub enum RunMount {
    Tmpfs {
        path: CString,
        options: CString,
        no_exec: bool,
    },
    /// A devpts.
    Terminals {
        path: CString,
    },
    Proc {
        path: CString,
        options: CString,
        /// Files and directories of the template that describe the machine, and the names in the
        /// procfs on which they are mounted.
        files: Vec<(CString, CString)>,
        /// Files and links of the procfs itself that remain visible besides the processes, at most
        /// [`MAX_KEPT`].
        kept: Vec<CString>,
    },
    /// Opens the template's staging directory, which has this device number, before the next tmpfs
    /// covers it.
    OpenStage {
        path: CString,
        device: u64,
    },
    /// Mounts the file or directory `name` of the staging directory.
    FromStage {
        name: CString,
        path: CString,
    },
    CreateDir {
        path: CString,
        mode: u32,
        may_exist: bool,
    },
    CreateFile {
        path: CString,
        mode: u32,
        may_exist: bool,
    },
    Symlink {
        target: CString,
        path: CString,
    },
}

/// The maximum number of files and links of a procfs that remain visible besides the processes.
pub const MAX_KEPT: usize = 4;

/// Options of a devpts. Every mount is a new instance, whose multiplexer and terminals no other run
/// can open. The pseudo-terminals of all instances together are limited (kernel.pty.max, 4096 by
/// default, of which the host keeps 1024), so `max` bounds each run.
const TERMINAL_OPTIONS: &core::ffi::CStr = c"mode=620,ptmxmode=666,max=16";

/// The template's staging directory.
struct Stage {
    /// -1 if the template has none.
    descriptor: i32,
    /// Whether the run's own tmpfs is mounted on it.
    is_covered: bool,
}

impl Stage {
    fn close(&self) {
        if self.descriptor >= 0 {
            let _ = calls::close(self.descriptor);
        }
    }
}

/// Mounts a file system on the directory that a descriptor refers to, even if a run with write
/// access to a parent directory has moved it.
fn mount_on(
    directory: i32,
    kind: &core::ffi::CStr,
    flags: libc::c_ulong,
    options: &core::ffi::CStr,
) -> core::result::Result<(), (Step, Errno)> {
    let while_mounting = |errno| (Step::Mount, errno);
    calls::fchdir(directory).map_err(while_mounting)?;
    calls::mount(kind, c".", kind, flags, options).map_err(while_mounting)?;
    calls::chdir(c"/").map_err(while_mounting)
}

/// Opens a directory and checks that it is the template's. A run with write access to a parent
/// directory may have moved or removed it, and the path may now lead to another directory. The
/// error is `ESTALE` in that case.
fn open_templates(
    path: &core::ffi::CStr,
    is_it: impl Fn((u64, u64)) -> bool,
) -> core::result::Result<i32, (Step, Errno)> {
    let while_mounting = |errno| (Step::Mount, errno);
    let found = calls::openat(libc::AT_FDCWD, path, libc::O_PATH | libc::O_DIRECTORY, 0)
        .map_err(while_mounting)?;
    if is_it(calls::identity(found).map_err(while_mounting)?) {
        Ok(found)
    } else {
        Err(while_mounting(Errno(libc::ESTALE)))
    }
}

/// Mounts files on those of a whole procfs, of which only the processes and these files remain. The
/// kernel removes all other names from its cache of names when the option changes, and looks up
/// new names only among the processes (`reconfigure_super()` in fs/super.c, `proc_lookup()` in
/// fs/proc/generic.c). A mount keeps the name of its mount point. So the procfs's own files and
/// links that must remain are mounted on themselves, or on a file that covers them.
fn mount_system_files(
    procfs: i32,
    files: &[(CString, CString)],
    kept: &[CString],
    flags: libc::c_ulong,
    options: &core::ffi::CStr,
) -> core::result::Result<(), (Step, Errno)> {
    let while_mounting = |errno| (Step::Mount, errno);
    calls::fchdir(procfs).map_err(while_mounting)?;
    let mut trees = [-1; MAX_KEPT];
    for (tree, name) in trees.iter_mut().zip(kept) {
        // A mount of a link itself, not of its target.
        let flags = libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC;
        let flags = flags | libc::AT_SYMLINK_NOFOLLOW as u32;
        *tree = calls::open_tree(libc::AT_FDCWD, name, flags).map_err(while_mounting)?;
    }
    for (source, name) in files {
        calls::mount(source, name, c"", libc::MS_BIND, c"").map_err(while_mounting)?;
    }
    for (&tree, name) in trees.iter().zip(kept) {
        calls::move_mount(tree, libc::AT_FDCWD, name, 0).map_err(while_mounting)?;
        let _ = calls::close(tree);
    }
    calls::mount(c"proc", c".", c"proc", flags | libc::MS_REMOUNT, options)
        .map_err(while_mounting)?;
    calls::chdir(c"/").map_err(while_mounting)
}

/// Carries out one mount for the run.
fn run_mount(
    mount: &RunMount,
    stage: &mut Stage,
    procfs: i32,
    system_files: bool,
) -> core::result::Result<(), (Step, Errno)> {
    let while_mounting = |errno| (Step::Mount, errno);
    let while_making = |errno| (Step::MountPoint, errno);
    match mount {
        RunMount::Tmpfs {
            path,
            options,
            no_exec,
        } => {
            let flags =
                libc::MS_NOSUID | libc::MS_NODEV | if *no_exec { libc::MS_NOEXEC } else { 0 };
            if stage.is_covered {
                return calls::mount(c"tmpfs", path, c"tmpfs", flags, options)
                    .map_err(while_mounting);
            }
            stage.is_covered = true;
            mount_on(stage.descriptor, c"tmpfs", flags, options)
        }
        RunMount::Terminals { path } => {
            let flags = libc::MS_NOSUID | libc::MS_NOEXEC;
            calls::mount(c"devpts", path, c"devpts", flags, TERMINAL_OPTIONS)
                .map_err(while_mounting)
        }
        RunMount::Proc {
            path,
            options,
            files,
            kept,
        } => {
            let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_RDONLY;
            // The new procfs covers the host's procfs, which must not stay visible anywhere.
            let hosts = calls::identity(procfs).map_err(while_mounting)?;
            let found = open_templates(path, |its| its == hosts)?;
            let has_files = system_files && !files.is_empty();
            // The mount points of the files exist only in a whole procfs.
            let first = if has_files { c"" } else { options.as_c_str() };
            let answer = mount_on(found, c"proc", flags, first);
            let _ = calls::close(found);
            answer?;
            if !has_files {
                return Ok(());
            }
            let own = open_templates(path, |its| its.0 != hosts.0)?;
            let answer = mount_system_files(own, files, kept, flags, options);
            let _ = calls::close(own);
            answer
        }
        RunMount::OpenStage { path, device } => {
            stage.close();
            *stage = Stage {
                descriptor: open_templates(path, |its| its.0 == *device)?,
                is_covered: false,
            };
            Ok(())
        }
        RunMount::FromStage { name, path } => {
            let flags = libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC | libc::AT_RECURSIVE as u32;
            let tree = calls::open_tree(stage.descriptor, name, flags).map_err(while_mounting)?;
            let answer = calls::move_mount(tree, libc::AT_FDCWD, path, 0).map_err(while_mounting);
            let _ = calls::close(tree);
            answer
        }
        RunMount::CreateDir {
            path,
            mode,
            may_exist,
        } => match calls::mkdirat(libc::AT_FDCWD, path, 0o700) {
            Ok(()) => calls::chmodat(libc::AT_FDCWD, path, *mode).map_err(while_making),
            Err(Errno(libc::EEXIST)) if *may_exist => Ok(()),
            Err(errno) => Err(while_making(errno)),
        },
        RunMount::CreateFile {
            path,
            mode,
            may_exist,
        } => {
            let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY;
            match calls::openat(libc::AT_FDCWD, path, flags, 0o600) {
                Ok(fd) => {
                    let _ = calls::close(fd);
                    calls::chmodat(libc::AT_FDCWD, path, *mode).map_err(while_making)
                }
                Err(Errno(libc::EEXIST)) if *may_exist => Ok(()),
                Err(errno) => Err(while_making(errno)),
            }
        }
        RunMount::Symlink { target, path } => {
            calls::symlinkat(target, libc::AT_FDCWD, path).map_err(while_making)
        }
    }
}

/// Carries out the mounts of a run, in order. `procfs` is the procfs that the run's own one covers.
/// `system_files` states whether the files that describe the machine are mounted in the run's own
/// procfs, in which case no other procfs can be mounted below it (`mnt_already_visible()` in
/// fs/namespace.c).
/// An error contains the index of the mount, the step and the errno.
pub fn carry_out(
    mounts: &[(u32, RunMount)],
    procfs: i32,
    system_files: bool,
) -> core::result::Result<(), (u32, Step, Errno)> {
    let mut stage = Stage {
        descriptor: -1,
        is_covered: true,
    };
    for (object, mount) in mounts {
        run_mount(mount, &mut stage, procfs, system_files)
            .map_err(|(step, errno)| (*object, step, errno))?;
    }
    stage.close();
    Ok(())
}

/// All securebits and their locks, except KEEP_CAPS itself (capabilities(7)). With them root inside
/// has no privileges, not even after an exec.
pub const SECUREBITS: usize = 0b1110_1111;

/// Drops all capabilities, also from the bounding set.
pub fn give_up_capabilities() -> Result<()> {
    // The bounding set ends at the last capability that the kernel knows (EINVAL).
    let mut capability = 0;
    loop {
        match calls::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) {
            Ok(_) => capability += 1,
            Err(Errno(libc::EINVAL)) => break,
            Err(errno) => return Err(errno),
        }
    }
    calls::prctl(libc::PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0)?;
    calls::drop_capabilities()
}

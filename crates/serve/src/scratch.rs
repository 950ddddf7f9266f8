//! The directory for temporary files of the service. It is removed when the service ends, even if
//! the service is killed.
//!
//! Several parts of the service keep temporary files below `TMPDIR`. The command creates a
//! directory, starts a small shell that removes the directory when a pipe closes, and executes
//! itself again with `TMPDIR` set. Only the service holds the other end of the pipe, so the kernel
//! closes the pipe when the service ends.

use crate::privileges::PrivilegeError;
use millibox_cli_support::failure::Failure;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Set in the process that has its directory.
const ENTERED: &str = "MILLIBOX_SERVE_SCRATCH";
/// Its standard input ends when the service ends. Only the service receives signals from the
/// terminal.
const REMOVER: &str = r#"trap "" INT TERM HUP; cat >/dev/null; rm -rf -- "$1""#;

/// Executes this command again with a directory for temporary files, unless it has one. The
/// directory belongs to `user`, if one is given.
///
/// # Errors
/// The directory cannot be created, or a process cannot be started.
pub fn enter(user: Option<(u32, u32)>) -> Result<(), Failure> {
    if std::env::var_os(ENTERED).is_some() {
        return Ok(());
    }
    let failed = |what: &'static str| {
        move |error: std::io::Error| Failure::sandbox(format!("cannot {what}: {error}"))
    };
    let program = std::env::current_exe().map_err(failed("find this program"))?;
    let directory = tempfile::Builder::new()
        .prefix("millibox-serve-")
        .tempdir()
        .map_err(failed("create a directory for temporary files"))?;
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|errno| failed("create a pipe")(errno.into()))?;
    let mut remover = Command::new("/bin/sh");
    if let Some((uid, gid)) = user {
        std::os::unix::fs::chown(directory.path(), Some(uid), Some(gid))
            .map_err(refused(user, "give a directory to that user"))?;
        // That user controls the directory's content, so root must not remove it.
        remover.uid(uid).gid(gid);
    }
    remover
        .args(["-c", REMOVER, "millibox-remover"])
        .arg(directory.path())
        .current_dir("/")
        .stdin(Stdio::from(reader))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(refused(user, "start /bin/sh"))?;
    // The pipe stays open across the exec. The supervisor closes inherited descriptors.
    fcntl_setfd(&writer, FdFlags::empty())
        .map_err(|errno| failed("keep a pipe open")(errno.into()))?;
    let path = directory.keep();
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let error = Command::new(program)
        .arg0(name)
        .args(arguments)
        .env("TMPDIR", &path)
        .env(ENTERED, &path)
        .exec();
    drop(writer);
    Err(failed("execute this program again")(error))
}

/// The failure of a step that concerns the service's user.
fn refused(
    user: Option<(u32, u32)>,
    action: &'static str,
) -> impl FnOnce(std::io::Error) -> Failure {
    move |error| match (user, Errno::from_io_error(&error)) {
        (Some((uid, gid)), Some(errno)) => Failure::sandbox(PrivilegeError::Ids {
            uid,
            gid,
            action,
            errno,
        }),
        _ => Failure::sandbox(format!("cannot {action}: {error}")),
    }
}

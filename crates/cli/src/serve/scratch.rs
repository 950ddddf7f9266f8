//! The directory for temporary files of the service. It is removed when the service ends, even if
//! the service is killed.
//!
//! Several parts of the service keep temporary files below `TMPDIR`. The command creates a
//! directory, starts a small shell that removes the directory when a pipe closes, and executes
//! itself again with `TMPDIR` set. Only the service holds the other end of the pipe, so the kernel
//! closes the pipe when the service ends.

use crate::failure::Failure;
use rustix::io::{FdFlags, fcntl_setfd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Set in the process that has its directory.
const ENTERED: &str = "MILLIBOX_SERVE_SCRATCH";
/// The end of its standard input is the end of the service. Signals of the terminal are for the
/// service alone.
const REMOVER: &str = r#"trap "" INT TERM HUP; cat >/dev/null; rm -rf -- "$1""#;

/// Executes this command again with a directory for temporary files, unless it has one.
///
/// # Errors
/// The directory cannot be created, or a process cannot be started.
pub fn enter() -> Result<(), Failure> {
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
    Command::new("/bin/sh")
        .args(["-c", REMOVER, "millibox-remover"])
        .arg(directory.path())
        .current_dir("/")
        .stdin(Stdio::from(reader))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(failed("start /bin/sh"))?;
    // The pipe stays open across the exec. The supervisor closes what it inherits.
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

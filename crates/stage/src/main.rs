//! Unpacks the files of a run inside the sandbox and executes its program.
//!
//! `millibox-stage PROGRAM ARGV0 [ARGUMENT...]`, with a socket as standard input. The library of
//! this crate describes the exchange. It exits with 127 if the program cannot be executed, after it
//! has sent the reason.
#![forbid(unsafe_code)]

use millibox_stage::{Answer, Failure, Instructions, Step};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, FdFlags, fcntl_getfd, fcntl_setfd};
use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The number of the first descriptor after the standard streams.
const FIRST_EXTRA_DESCRIPTOR: i32 = 3;
const EXIT_NOT_EXECUTED: u8 = 127;

fn main() -> ExitCode {
    // A panic ends the process at once, without destructors.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
    let mut arguments = std::env::args_os().skip(1);
    let (Some(program), Some(argv0)) = (arguments.next(), arguments.next()) else {
        return ExitCode::from(EXIT_NOT_EXECUTED);
    };
    // Received before anything else is opened, so that the program's descriptors get the first
    // free numbers (open(2)).
    let received = millibox_stage::receive::<Instructions>(std::io::stdin(), false);
    let Ok(socket) = std::io::stdin().as_fd().try_clone_to_owned() else {
        return ExitCode::from(EXIT_NOT_EXECUTED);
    };
    let received = received.and_then(|received| received.ok_or(Errno::NOTCONN));
    let prepared = received
        .map_err(failed(Step::Receive))
        .and_then(|(instructions, descriptors)| prepare(&socket, &instructions, descriptors));
    let failure = match prepared {
        Ok(()) => execute(program, argv0, arguments),
        Err(failure) => failure,
    };
    // If the caller has ended, the run ends as well.
    let _ = millibox_stage::send(&socket, &Answer::Failed(failure), &[]);
    ExitCode::from(EXIT_NOT_EXECUTED)
}

fn failed(step: Step) -> impl Fn(Errno) -> Failure {
    move |errno| Failure {
        step,
        errno: Some(errno.raw_os_error()),
    }
}

/// Does everything up to the exec.
fn prepare(
    socket: &OwnedFd,
    instructions: &Instructions,
    mut descriptors: Vec<OwnedFd>,
) -> Result<(), Failure> {
    let archive = instructions
        .has_archive
        .then(|| descriptors.pop())
        .flatten();
    let stdin = descriptors
        .pop()
        .ok_or_else(|| failed(Step::Receive)(Errno::BADMSG))?;
    if let Some(archive) = archive {
        unpack(archive)?;
    }
    let directory = rustix::fs::open(
        ".",
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .map_err(failed(Step::Unpack))?;
    rustix::stdio::dup2_stdin(&stdin).map_err(failed(Step::Descriptors))?;
    drop(stdin);
    place(descriptors).map_err(failed(Step::Descriptors))?;
    if instructions.terminal {
        // The run may lead its session already.
        let _ = rustix::process::setsid();
        match rustix::process::ioctl_tiocsctty(std::io::stdin()) {
            // The default seccomp profile forbids it. The streams are a terminal nevertheless, but
            // Ctrl-C reaches no process.
            Ok(()) | Err(Errno::PERM) => {}
            Err(errno) => return Err(failed(Step::Terminal)(errno)),
        }
    }
    millibox_stage::send(socket, &Answer::Ready, &[directory.as_fd()])
        .map_err(failed(Step::Descriptors))
}

/// Leaves the descriptors open for the program. They keep the numbers with which they arrived.
fn place(descriptors: Vec<OwnedFd>) -> Result<(), Errno> {
    for (index, descriptor) in descriptors.into_iter().enumerate() {
        let expected = FIRST_EXTRA_DESCRIPTOR + i32::try_from(index).map_err(|_| Errno::MFILE)?;
        if descriptor.as_raw_fd() != expected {
            return Err(Errno::BADF);
        }
        fcntl_setfd(&descriptor, fcntl_getfd(&descriptor)? - FdFlags::CLOEXEC)?;
        // The program inherits it.
        std::mem::forget(descriptor);
    }
    Ok(())
}

fn unpack(archive: OwnedFd) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure {
        step: Step::Unpack,
        errno: cause(&error),
    };
    let mut archive = tar::Archive::new(std::fs::File::from(archive));
    archive.set_preserve_permissions(true);
    archive.set_preserve_mtime(false);
    archive.set_overwrite(true);
    for entry in archive.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        let path = Path::new("/").join(entry.path().map_err(failed)?);
        if let Some(parent) = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        entry.unpack(&path).map_err(failed)?;
    }
    Ok(())
}

/// The kernel's error that underlies an error of the archive.
fn cause(error: &std::io::Error) -> Option<i32> {
    let mut error: &(dyn std::error::Error + 'static) = error;
    loop {
        let io = error.downcast_ref::<std::io::Error>();
        if let Some(errno) = io.and_then(std::io::Error::raw_os_error) {
            return Some(errno);
        }
        error = error.source()?;
    }
}

/// Executes the program, which is looked up in `PATH` if its name has no `/`. Returns if that
/// fails.
fn execute(
    program: OsString,
    argv0: OsString,
    arguments: impl Iterator<Item = OsString>,
) -> Failure {
    let error = Command::new(program).arg0(argv0).args(arguments).exec();
    Failure {
        step: Step::Execute,
        errno: error.raw_os_error(),
    }
}

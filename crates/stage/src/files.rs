//! The steps of `millibox-stage` before the exec.

use crate::{Answer, Failure, Instructions, Step};
use rustix::fs::{FileType, Mode, OFlags, makedev};
use rustix::io::{Errno, FdFlags, fcntl_getfd, fcntl_setfd};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

/// The number of the first descriptor after the standard streams.
const FIRST_EXTRA_DESCRIPTOR: i32 = 3;
const TEMPORARY_DIRECTORY: &str = "/tmp";
/// The number of the null device (null(4)).
const NULL_MAJOR: u32 = 1;
const NULL_MINOR: u32 = 3;

/// Receives the instructions from the socket that is standard input, carries them out and answers.
///
/// Returns the socket, which is closed on exec. If a step fails, the answer names the step, and the
/// result is `None`.
///
/// Call this function before the process opens any file, so that the program's descriptors get the
/// first free numbers (open(2)).
#[must_use]
pub fn stage() -> Option<OwnedFd> {
    let received = crate::receive::<Instructions>(std::io::stdin(), false);
    let socket = std::io::stdin().as_fd().try_clone_to_owned().ok()?;
    let received = received.and_then(|received| received.ok_or(Errno::NOTCONN));
    let staged = received
        .map_err(failed(Step::Receive))
        .and_then(|(instructions, descriptors)| carry_out(&socket, &instructions, descriptors));
    match staged {
        Ok(()) => Some(socket),
        Err(failure) => {
            // If the caller has ended, the run ends as well.
            let _ = crate::send(&socket, &Answer::Failed(failure), &[]);
            None
        }
    }
}

fn failed(step: Step) -> impl Fn(Errno) -> Failure {
    move |errno| Failure {
        step,
        errno: Some(errno.raw_os_error()),
    }
}

/// Carries out the instructions.
fn carry_out(
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
    let mut stdin = stdin;
    for descriptor in descriptors.iter_mut().chain([&mut stdin]) {
        use_own_null(descriptor).map_err(failed(Step::Descriptors))?;
    }
    if let Some(archive) = archive {
        unpack(archive)?;
    }
    let directory = open_directory(".").map_err(failed(Step::Unpack))?;
    // A world may have no such directory.
    let temporary = open_directory(TEMPORARY_DIRECTORY).ok();
    rustix::stdio::dup2_stdin(&stdin).map_err(failed(Step::Descriptors))?;
    drop(stdin);
    place(descriptors).map_err(failed(Step::Descriptors))?;
    if instructions.terminal {
        // The process may already be a session leader.
        let _ = rustix::process::setsid();
        match rustix::process::ioctl_tiocsctty(std::io::stdin()) {
            // The default seccomp profile forbids this ioctl. The streams are still a terminal, but
            // Ctrl-C has no effect.
            Ok(()) | Err(Errno::PERM) => {}
            Err(errno) => return Err(failed(Step::Terminal)(errno)),
        }
    }
    let directories: Vec<_> = [Some(&directory), temporary.as_ref()]
        .into_iter()
        .flatten()
        .map(OwnedFd::as_fd)
        .collect();
    crate::send(socket, &Answer::Ready, &directories).map_err(failed(Step::Descriptors))
}

fn open_directory(path: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Replaces the null device of the host by that of the sandbox, under the same number. The caller
/// has opened the host's device on a mount that allows writing, so the program could change its
/// times through it. Call this before files of the request exist, which could take its place.
fn use_own_null(descriptor: &mut OwnedFd) -> Result<(), Errno> {
    let stat = rustix::fs::fstat(&*descriptor)?;
    let is_device = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
    if !is_device || stat.st_rdev != makedev(NULL_MAJOR, NULL_MINOR) {
        return Ok(());
    }
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open("/dev/null", flags, Mode::empty()) {
        Ok(own) => rustix::io::dup2(&own, descriptor),
        // A world without devices has no other one.
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Leaves the descriptors open for the program. They keep the numbers under which they were
/// received.
fn place(descriptors: Vec<OwnedFd>) -> Result<(), Errno> {
    for (index, descriptor) in descriptors.into_iter().enumerate() {
        let expected = FIRST_EXTRA_DESCRIPTOR + i32::try_from(index).map_err(|_| Errno::MFILE)?;
        if descriptor.as_raw_fd() != expected {
            return Err(Errno::BADF);
        }
        fcntl_setfd(&descriptor, fcntl_getfd(&descriptor)? - FdFlags::CLOEXEC)?;
        // The program inherits the descriptor.
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

/// The kernel's error that caused an error of the archive.
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

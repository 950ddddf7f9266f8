//! Executables, files and pipes.

use crate::HANG_TIMEOUT;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// The path of an executable of this package or of the supervisor, beside the test executable.
pub fn executable(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap_or_default();
    let beside = test.parent().unwrap_or(Path::new("/"));
    let above = if beside.ends_with("deps") {
        beside.parent().unwrap_or(beside)
    } else {
        beside
    };
    match (name, std::env::var_os("MILLIBOX_SUPERVISOR")) {
        ("millibox-supervisor", Some(path)) => path.into(),
        _ => above.join(name),
    }
}

/// Opens a file for reading.
pub fn open(path: &Path) -> Arc<OwnedFd> {
    let file =
        std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Arc::new(OwnedFd::from(file))
}

/// Creates a pipe and returns its read end and its write end.
pub fn pipe() -> (OwnedFd, Arc<OwnedFd>) {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).expect("a pipe");
    (read, Arc::new(write))
}

/// Reads to the end of file. Panics if no data arrives for [`HANG_TIMEOUT`].
pub fn read_all(from: impl AsFd) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 1 << 16];
    loop {
        assert!(
            readable(&from, HANG_TIMEOUT),
            "no end of file after {HANG_TIMEOUT:?}, but {:?}",
            String::from_utf8_lossy(&bytes)
        );
        match rustix::io::read(&from, &mut chunk) {
            Ok(0) => return bytes,
            Ok(length) => bytes.extend_from_slice(&chunk[..length]),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => panic!("{errno}"),
        }
    }
}

/// Reads one line. Panics if no data arrives for [`HANG_TIMEOUT`].
pub fn read_line(from: impl AsFd) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        assert!(
            readable(&from, HANG_TIMEOUT),
            "no line after {HANG_TIMEOUT:?}"
        );
        match rustix::io::read(&from, &mut byte) {
            Ok(0) => panic!(
                "end of file within a line: {:?}",
                String::from_utf8_lossy(&line)
            ),
            Ok(_) if byte == *b"\n" => return String::from_utf8_lossy(&line).into_owned(),
            Ok(_) => line.push(byte[0]),
            Err(errno) => panic!("{errno}"),
        }
    }
}

/// Returns whether data or the end of file arrives within `time`.
pub fn readable(from: impl AsFd, time: Duration) -> bool {
    let mut ready = [rustix::event::PollFd::new(
        &from,
        rustix::event::PollFlags::IN,
    )];
    let time = rustix::event::Timespec::try_from(time).expect("a time");
    rustix::event::poll(&mut ready, Some(&time)) == Ok(1)
}

/// A temporary directory that every user may read and write.
pub fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    set_mode(directory.path(), 0o777);
    directory
}

/// Sets the mode of a file.
pub fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("chmod");
}

/// Copies an executable file, with mode 755.
///
/// Another process writes the copy. If this process wrote it, a child that another thread forks at
/// that moment would inherit the writable descriptor, and the copy could not be executed until the
/// child has executed its own program (`ETXTBSY`).
pub fn copy_executable(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let (from, to) = (from.as_ref(), to.as_ref());
    let status = Command::new("cp").args([from, to]).status().expect("cp");
    assert!(
        status.success(),
        "cp {} {}: {status}",
        from.display(),
        to.display()
    );
    set_mode(to, 0o755);
}

/// Writes a script, with mode 755. Another process writes it, like [`copy_executable`].
pub fn write_script(path: impl AsRef<Path>, text: &str) {
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", "printf %s \"$1\" >\"$0\""]);
    let status = shell.arg(path.as_ref()).arg(text).status().expect("sh");
    assert!(status.success(), "{}: {status}", path.as_ref().display());
    set_mode(path.as_ref(), 0o755);
}

/// Copies the probe into a directory that a world can bind.
pub fn copy_probe(directory: &Path) -> PathBuf {
    let copy = directory.join("probe");
    copy_executable(executable("probe"), &copy);
    copy
}

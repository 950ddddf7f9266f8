//! One run with its output kept.

use super::messages::MAX_MESSAGE_BYTES;
use millibox::{Handle, Request, RunResult, Supervisor};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// A run and what it wrote.
pub(super) struct CapturedRun<T> {
    pub(super) result: RunResult,
    /// What was made of standard output.
    pub(super) stdout: T,
    /// The beginning of standard error.
    pub(super) stderr: Vec<u8>,
    /// Bytes of standard error that there were.
    pub(super) stderr_total: u64,
}

/// Runs to the end. At most `most` bytes of standard output are taken. The error is the sandbox's.
pub(super) fn run(
    supervisor: &Supervisor,
    request: Request,
    stdin: &[u8],
    most: u64,
) -> Result<CapturedRun<Vec<u8>>, String> {
    run_with(supervisor, request, stdin, |stdout, handle| {
        read(stdout.0, most, || handle.kill_for_output()).0
    })
}

/// Runs to the end, with standard output given to `take`. What that does not read is thrown away.
/// The error is the sandbox's.
pub(super) fn run_with<T>(
    supervisor: &Supervisor,
    request: Request,
    stdin: &[u8],
    take: impl FnOnce(&mut Stdout<'_>, &Handle) -> T,
) -> Result<CapturedRun<T>, String> {
    let (input, feed) = pipe()?;
    let (stdout, its_stdout) = pipe()?;
    let (stderr, its_stderr) = pipe()?;
    // What a pipe takes at once: it has 64 KiB, and inputs of ours are short.
    rustix::io::write(&feed, stdin).map_err(|errno| format!("cannot write to a pipe: {errno}"))?;
    drop(feed);
    let request = request.stdin(input).stdout(its_stdout).stderr(its_stderr);
    let handle = supervisor
        .run(&request)
        .map_err(|error| error.to_string())?;
    // The judge's copies of the writing ends must go, or the pipes never end.
    drop(request);
    let (taken, stderr) = std::thread::scope(|scope| {
        // More than is kept is read and thrown away, or the writer would wait for ever.
        let reader = || read(&stderr, MAX_MESSAGE_BYTES as u64, || {});
        let stderr = std::thread::Builder::new().spawn_scoped(scope, reader).map_err(|error| {
            format!(
                "cannot start a thread that reads standard error: {error}; raise the process limit \
                 (ulimit -u, pids.max) around millibox"
            )
        })?;
        let taken = take(&mut Stdout(&stdout), &handle);
        read(&stdout, 0, || {});
        Ok::<_, String>((taken, stderr.join()))
    })?;
    let (stderr, stderr_total) =
        stderr.map_err(|_| "the reader of standard error failed".to_owned())?;
    let result = handle.wait().map_err(|error| error.to_string())?;
    Ok(CapturedRun {
        result,
        stdout: taken,
        stderr,
        stderr_total,
    })
}

/// The reading end of a run's standard output.
pub(super) struct Stdout<'a>(&'a OwnedFd);

impl io::Read for Stdout<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| {
            rustix::io::read(self.0, &mut *buffer)
        })?)
    }
}

fn pipe() -> Result<(OwnedFd, Arc<OwnedFd>), String> {
    let (read, write) =
        pipe_with(PipeFlags::CLOEXEC).map_err(|errno| format!("cannot make a pipe: {errno}"))?;
    Ok((read, Arc::new(write)))
}

/// Reads until the end: the first bytes, and how many there were. `beyond` is told of those that
/// are not kept.
fn read(from: &OwnedFd, most: u64, beyond: impl Fn()) -> (Vec<u8>, u64) {
    let mut kept = Vec::new();
    let mut total: u64 = 0;
    let mut chunk = vec![0; 64 * 1024];
    loop {
        match rustix::io::read(from, &mut chunk) {
            Ok(0) => return (kept, total),
            Ok(read) => {
                total += read as u64;
                let wanted = (most - kept.len() as u64).min(read as u64) as usize;
                kept.extend_from_slice(&chunk[..wanted]);
                if wanted < read {
                    beyond();
                }
            }
            Err(Errno::INTR) => {}
            Err(_) => return (kept, total),
        }
    }
}

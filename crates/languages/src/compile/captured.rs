//! Runs a program and captures its output.

use super::messages::MAX_MESSAGE_BYTES;
use crate::Cause;
use millibox::{Handle, Request, RunResult, Supervisor};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Why a run has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunFailure {
    /// A pipe cannot be created.
    #[error("cannot create a pipe: {0}")]
    Pipe(Errno),
    /// The input cannot be written to a pipe.
    #[error("cannot write to a pipe: {0}")]
    Write(Errno),
    /// The thread that reads standard error cannot start.
    #[error(
        "cannot start a thread that reads standard error: {0}; raise the process limit (ulimit -u, \
         pids.max) for millibox"
    )]
    Thread(Cause<io::Error>),
    /// The thread that reads standard error panicked.
    #[error("the reader of standard error failed")]
    Reader,
    /// The sandbox failed.
    #[error("{0}")]
    Sandbox(Cause<millibox::Error>),
}

/// The result of a run, with its output.
pub(super) struct CapturedRun<T> {
    pub(super) result: RunResult,
    /// The value that was computed from standard output.
    pub(super) stdout: T,
    /// The beginning of standard error.
    pub(super) stderr: Vec<u8>,
    /// Number of bytes that the run wrote to standard error.
    pub(super) stderr_total: u64,
}

/// Runs a program until it ends, and keeps at most `max_bytes` bytes of its standard output.
pub(super) fn run(
    supervisor: &Supervisor,
    request: Request,
    stdin: &[u8],
    max_bytes: u64,
) -> Result<CapturedRun<Vec<u8>>, RunFailure> {
    run_with(supervisor, request, stdin, |stdout, handle| {
        read(stdout.0, max_bytes, || handle.kill_for_output()).0
    })
}

/// Runs a program until it ends. `take` reads standard output, and the rest is discarded.
pub(super) fn run_with<T>(
    supervisor: &Supervisor,
    request: Request,
    stdin: &[u8],
    take: impl FnOnce(&mut Stdout<'_>, &Handle) -> T,
) -> Result<CapturedRun<T>, RunFailure> {
    let (input, feed) = pipe()?;
    let (stdout, run_stdout) = pipe()?;
    let (stderr, run_stderr) = pipe()?;
    // A pipe holds 64 KiB, and the inputs of this crate are shorter. The write therefore does not
    // block.
    rustix::io::write(&feed, stdin).map_err(RunFailure::Write)?;
    drop(feed);
    let request = request.stdin(input).stdout(run_stdout).stderr(run_stderr);
    let sandbox = |error: millibox::Error| RunFailure::Sandbox(error.into());
    let handle = supervisor.run(&request).map_err(sandbox)?;
    // Close this process's write ends, so that the pipes close when the run ends.
    drop(request);
    let (taken, stderr) = std::thread::scope(|scope| {
        // Read everything, so that the writer never blocks.
        let reader = || read(&stderr, MAX_MESSAGE_BYTES as u64, || {});
        let stderr = std::thread::Builder::new()
            .spawn_scoped(scope, reader)
            .map_err(|error| RunFailure::Thread(error.into()))?;
        let taken = take(&mut Stdout(&stdout), &handle);
        read(&stdout, 0, || {});
        Ok::<_, RunFailure>((taken, stderr.join()))
    })?;
    let (stderr, stderr_total) = stderr.map_err(|_| RunFailure::Reader)?;
    let result = handle.wait().map_err(sandbox)?;
    Ok(CapturedRun {
        result,
        stdout: taken,
        stderr,
        stderr_total,
    })
}

/// The read end of a run's standard output.
pub(super) struct Stdout<'a>(&'a OwnedFd);

impl io::Read for Stdout<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| {
            rustix::io::read(self.0, &mut *buffer)
        })?)
    }
}

fn pipe() -> Result<(OwnedFd, Arc<OwnedFd>), RunFailure> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(RunFailure::Pipe)?;
    Ok((read, Arc::new(write)))
}

/// Reads until the end of the input. Returns the first `max_bytes` bytes and the total number of
/// bytes. Calls `on_excess` whenever it reads bytes beyond the first `max_bytes`.
fn read(from: &OwnedFd, max_bytes: u64, on_excess: impl Fn()) -> (Vec<u8>, u64) {
    let mut kept = Vec::new();
    let mut total: u64 = 0;
    let mut chunk = vec![0; 64 * 1024];
    loop {
        match rustix::io::read(from, &mut chunk) {
            Ok(0) => return (kept, total),
            Ok(read) => {
                total += read as u64;
                let wanted = (max_bytes - kept.len() as u64).min(read as u64) as usize;
                kept.extend_from_slice(&chunk[..wanted]);
                if wanted < read {
                    on_excess();
                }
            }
            Err(Errno::INTR) => {}
            Err(_) => return (kept, total),
        }
    }
}

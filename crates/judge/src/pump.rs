//! Moves a run's input and output through pipes: in one thread, with splice(2), without copying
//! bytes to user space.
//!
//! The judge waits for a run by polling its pipes, because they close when the run ends. The pump
//! does as little as possible while the program runs: a program that wakes the judge in write(2)
//! pays for the wake-up with its own CPU time. Input that fits into its pipe is written before the
//! program starts. The pump lets small outputs accumulate before it moves them.
//!
//! Splicing to a pipe without a reader raises SIGPIPE, which Rust's runtime ignores before `main`.
//! The signal kills a process that has restored the default action.

use crate::cancel::CancelToken;
use crate::failure::{JudgeFailure, Step};
use crate::feedback::{WATCH_INTERVAL, Watch};
use millibox::{Handle, RunResult};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{
    MemfdFlags, Mode, SealFlags, fchmod, fcntl_add_seals, fstat, ftruncate, memfd_create, tell,
};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// Default capacity of a pipe (pipe(7)).
const DEFAULT_PIPE_BYTES: u64 = 64 << 10;
/// Maximum capacity of an input pipe, which is the kernel's default maximum. The pipe's pages
/// belong to the page cache.
const MAX_INPUT_PIPE_BYTES: u64 = 1 << 20;
/// Capacity of an output pipe. It is not larger because the kernel charges its pages to the run.
const OUTPUT_PIPE_BYTES: usize = 256 << 10;
/// Maximum length of one splice.
const MAX_SPLICE_BYTES: u64 = 1 << 20;
/// A smaller output is not worth a wake-up: the pump lets output accumulate for [`GATHER_TIME`].
const SMALL_OUTPUT_BYTES: u64 = 16 << 10;
/// The writer has to wait only if the output pipe fills up within this time.
const GATHER_TIME: Duration = Duration::from_millis(1);
/// Interval at which the pump polls for the result while the pipes are idle. The pipes report the
/// end, unless a descriptor outlives the run, for example in a message on a socket.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A run's input.
pub(crate) struct Input<'a> {
    file: BorrowedFd<'a>,
    /// A copy in memory, for a file that cannot be spliced.
    copy: Option<File>,
    offset: u64,
    /// `None` if the pipe holds the rest of the input, or its reader has closed it.
    pipe: Option<OwnedFd>,
}

/// Gives a run access to its end of a pipe, which belongs to the judge's user. A run with /proc can
/// reopen its end as /dev/stdin or /dev/stdout, even as another user, but cannot open the other
/// end.
fn share(pipe: &OwnedFd, mode: Mode) -> Result<(), JudgeFailure> {
    fchmod(pipe, mode).map_err(failed(Step::SharePipe))
}

impl<'a> Input<'a> {
    /// Creates a pipe that delivers the content of `file`, and returns its read end.
    pub fn new(file: BorrowedFd<'a>) -> Result<(Input<'a>, Arc<OwnedFd>), JudgeFailure> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(failed(Step::CreatePipe))?;
        let length = fstat(file).map_err(failed(Step::MeasureInput))?.st_size as u64;
        if length > DEFAULT_PIPE_BYTES {
            // Add one page, so that the last splice reaches the end of the file. If an unprivileged
            // user's pipes have reached their limit (pipe(7)), the pump has to fill this one more
            // often.
            let _ = fcntl_setpipe_size(&write, (length + 4096).min(MAX_INPUT_PIPE_BYTES) as usize);
        }
        let mut input = Input {
            file,
            copy: None,
            offset: 0,
            pipe: Some(write),
        };
        input.fill()?;
        share(&read, Mode::from_raw_mode(0o444))?;
        Ok((input, Arc::new(read)))
    }

    /// The input of a run whose standard input the pump does not move.
    pub fn none() -> Input<'static> {
        Input {
            file: rustix::fs::CWD,
            copy: None,
            offset: 0,
            pipe: None,
        }
    }

    /// Fills the pipe.
    fn fill(&mut self) -> Result<(), JudgeFailure> {
        while let Some(pipe) = &self.pipe {
            let from = self.copy.as_ref().map_or(self.file, |copy| copy.as_fd());
            match splice(
                from,
                Some(&mut self.offset),
                pipe,
                None,
                MAX_SPLICE_BYTES as usize,
                SpliceFlags::NONBLOCK,
            ) {
                // The file has ended, or the program has closed its input.
                Ok(0) | Err(Errno::PIPE) => self.pipe = None,
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                // Some file systems do not support splice(2).
                Err(Errno::INVAL) if self.copy.is_none() => self.copy = Some(copy(self.file)?),
                Err(errno) => return Err(failed(Step::ReadInput)(errno)),
            }
        }
        Ok(())
    }
}

/// The destination of a run's output.
#[derive(Debug)]
pub(crate) enum Sink<'a> {
    /// The file receives the whole output, from its current position on.
    File(&'a File),
    /// The vector receives the given number of bytes. The rest is read and discarded.
    Head(&'a mut Vec<u8>, usize),
}

/// A run's output.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    /// `None` if the output has ended or exceeded the limit.
    pipe: Option<OwnedFd>,
    sink: Sink<'a>,
    limit: u64,
    moved: u64,
}

impl<'a> Output<'a> {
    /// Creates a pipe for at most `limit` bytes of output, and returns its write end.
    pub fn new(sink: Sink<'a>, limit: u64) -> Result<(Output<'a>, Arc<OwnedFd>), JudgeFailure> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(failed(Step::CreatePipe))?;
        if matches!(sink, Sink::File(_)) {
            let _ = fcntl_setpipe_size(&write, OUTPUT_PIPE_BYTES);
        }
        share(&write, Mode::from_raw_mode(0o222))?;
        Ok((
            Output {
                pipe: Some(read),
                sink,
                limit,
                moved: 0,
            },
            Arc::new(write),
        ))
    }

    fn is_over_limit(&self) -> bool {
        self.moved > self.limit
    }

    /// Moves the bytes in the pipe and returns their number.
    fn take(&mut self) -> Result<u64, JudgeFailure> {
        let before = self.moved;
        while let Some(pipe) = &self.pipe {
            // One byte beyond the limit shows that the limit is exceeded.
            let most = (self.limit - self.moved)
                .saturating_add(1)
                .min(MAX_SPLICE_BYTES);
            let moved = match &mut self.sink {
                Sink::File(file) => {
                    splice(pipe, None, file, None, most as usize, SpliceFlags::NONBLOCK)
                }
                Sink::Head(head, limit) => read_some(pipe, head, *limit, most),
            };
            match moved {
                Ok(0) => self.pipe = None,
                Ok(bytes) => {
                    self.moved += bytes as u64;
                    if self.is_over_limit() {
                        self.pipe = None;
                        if let Sink::File(file) = &self.sink {
                            let excess = self.moved - self.limit;
                            tell(file)
                                .and_then(|end| ftruncate(file, end - excess))
                                .map_err(failed(Step::TruncateOutput))?;
                        }
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(errno) => return Err(failed(Step::StoreOutput)(errno)),
            }
        }
        Ok(self.moved - before)
    }
}

/// Reads once from a pipe without waiting, and keeps the beginning of the output.
fn read_some(
    pipe: &OwnedFd,
    head: &mut Vec<u8>,
    limit: usize,
    most: u64,
) -> rustix::io::Result<usize> {
    let mut chunk = [0; 16 << 10];
    let wanted = chunk.len().min(most as usize);
    let read = read_now(pipe, &mut chunk[..wanted])?;
    head.extend_from_slice(&chunk[..read.min(limit - head.len())]);
    Ok(read)
}

/// Reads from a pipe without waiting.
///
/// Polling first is not enough. A run of the judge's own user with /proc can open its standard
/// output for reading and read the bytes first. O_NONBLOCK would also apply to the run.
pub(crate) fn read_now(pipe: &OwnedFd, buffer: &mut [u8]) -> rustix::io::Result<usize> {
    /// The current position, which is the only one that a pipe has (preadv2(2)).
    const CURRENT_POSITION: u64 = u64::MAX;
    match preadv2(
        pipe,
        &mut [std::io::IoSliceMut::new(buffer)],
        CURRENT_POSITION,
        ReadWriteFlags::NOWAIT,
    ) {
        // Pipes support RWF_NOWAIT since Linux 6.4.
        Err(Errno::OPNOTSUPP) => {}
        read => return read,
    }
    let mut ready = [PollFd::new(pipe, PollFlags::IN)];
    if poll(
        &mut ready,
        Some(&Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        }),
    )? == 0
    {
        return Err(Errno::AGAIN);
    }
    rustix::io::read(pipe, buffer)
}

/// Moves a run's input and outputs until it ends, and returns its result.
///
/// The pump ends the run if there is too much output, if `watch` finds an excess, or if the token
/// is cancelled. When the function returns, it has moved the whole output.
pub(crate) fn pump(
    run: &Handle,
    input: &mut Input<'_>,
    outputs: &mut [Output<'_>],
    mut watch: Option<&mut Watch<'_>>,
    token: &CancelToken,
) -> Result<RunResult, JudgeFailure> {
    let tick = if watch.is_some() {
        WATCH_INTERVAL
    } else {
        POLL_INTERVAL
    };
    let mut is_killed = false;
    while input.pipe.is_some() || outputs.iter().any(|output| output.pipe.is_some()) {
        let (input_ready, output_ready) = wait(input, outputs, tick)?;
        if token.is_cancelled() {
            run.cancel();
        }
        if let Some(watch) = &mut watch {
            watch.check(run);
        }
        if input_ready {
            input.fill()?;
        }
        let mut moved = 0;
        for output in outputs.iter_mut() {
            moved += output.take()?;
        }
        if !is_killed && outputs.iter().any(Output::is_over_limit) {
            is_killed = true;
            run.kill_for_output();
        }
        let over = if !input_ready && !output_ready {
            run.try_wait()?
        } else if output_ready && moved < SMALL_OUTPUT_BYTES && input.pipe.is_none() {
            // While input is left, the program may be waiting for it, so the pump does not wait
            // here.
            run.wait_timeout(GATHER_TIME)?
        } else {
            None
        };
        if over.is_some() {
            break;
        }
    }
    let result = loop {
        if let Some(result) = run.wait_timeout(tick)? {
            break result;
        }
        if token.is_cancelled() {
            run.cancel();
        }
        if let Some(watch) = &mut watch {
            watch.check(run);
        }
    };
    // All processes have ended, so the pipes hold the rest of the output.
    for output in outputs.iter_mut() {
        output.take()?;
    }
    if !is_killed && outputs.iter().any(Output::is_over_limit) {
        run.kill_for_output();
        return Ok(run.wait()?);
    }
    Ok(result)
}

/// Waits for one of the pipes. Returns whether the input's pipe is ready, and whether any output's
/// pipe is.
fn wait(
    input: &Input<'_>,
    outputs: &[Output<'_>],
    timeout: Duration,
) -> Result<(bool, bool), JudgeFailure> {
    let mut ready: Vec<PollFd<'_>> = Vec::with_capacity(outputs.len() + 1);
    ready.extend(
        input
            .pipe
            .iter()
            .map(|pipe| PollFd::new(pipe, PollFlags::OUT)),
    );
    let inputs = ready.len();
    ready.extend(
        outputs
            .iter()
            .filter_map(|output| output.pipe.as_ref())
            .map(|pipe| PollFd::new(pipe, PollFlags::IN)),
    );
    let timeout = Timespec::try_from(timeout).ok();
    match poll(&mut ready, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(failed(Step::WaitForPipes)(errno)),
    }
    let any = |ready: &[PollFd<'_>]| ready.iter().any(|one| !one.revents().is_empty());
    Ok((any(&ready[..inputs]), any(&ready[inputs..])))
}

/// Seals and rewinds a file in memory, so that a checker or grader can read but not change it.
pub(crate) fn sealed(mut file: File) -> Result<Arc<OwnedFd>, JudgeFailure> {
    let all = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&file, all).map_err(failed(Step::Seal))?;
    file.rewind()
        .map_err(|error| JudgeFailure::step(Step::Rewind, error))?;
    Ok(Arc::new(file.into()))
}

/// Creates an unnamed file in memory.
///
/// # Errors
/// No descriptor or memory is available.
pub fn memory_file() -> Result<File, JudgeFailure> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    Ok(File::from(
        memfd_create("millibox-output", flags).map_err(failed(Step::CreateMemoryFile))?,
    ))
}

fn copy(from: BorrowedFd<'_>) -> Result<File, JudgeFailure> {
    let mut copy = memory_file()?;
    let mut buffer = vec![0; DEFAULT_PIPE_BYTES as usize];
    let mut offset = 0;
    loop {
        let read = rustix::io::retry_on_intr(|| rustix::io::pread(from, &mut buffer, offset));
        match read.map_err(failed(Step::ReadInput))? {
            0 => return Ok(copy),
            read => {
                copy.write_all(&buffer[..read])
                    .map_err(|error| JudgeFailure::step(Step::CopyInput, error))?;
                offset += read as u64;
            }
        }
    }
}

fn failed(step: Step) -> impl FnOnce(Errno) -> JudgeFailure {
    move |errno| JudgeFailure::step(step, errno)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Barrier, mpsc};

    fn pipe() -> (OwnedFd, File) {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        (read, write.into())
    }

    #[test]
    fn read_now_from_empty_pipe_returns_again() {
        let (read, mut write) = pipe();
        let mut buffer = [0; 4];
        assert_eq!(read_now(&read, &mut buffer), Err(Errno::AGAIN));
        write.write_all(b"12345").unwrap();
        assert_eq!((read_now(&read, &mut buffer), &buffer), (Ok(4), b"1234"));
        assert_eq!((read_now(&read, &mut buffer), buffer[0]), (Ok(1), b'5'));
        assert_eq!(read_now(&read, &mut buffer), Err(Errno::AGAIN));
        drop(write);
        assert_eq!(read_now(&read, &mut buffer), Ok(0));
    }

    #[test]
    fn read_now_with_two_readers_and_one_byte_does_not_wait() {
        const ROUNDS: usize = 3000;
        let (read, mut write) = pipe();
        let mut byte = [0];
        let mut one = [std::io::IoSliceMut::new(&mut byte)];
        if preadv2(&read, &mut one, u64::MAX, ReadWriteFlags::NOWAIT) == Err(Errno::OPNOTSUPP) {
            eprintln!(
                "SKIPPED: pipes support RWF_NOWAIT since Linux 6.4; before, the slower reader may \
                 wait"
            );
            return;
        }
        let (read, round) = (Arc::new(read), Arc::new(Barrier::new(3)));
        let (sender, results) = mpsc::channel();
        for _ in 0..2 {
            let (read, round, sender) = (read.clone(), round.clone(), sender.clone());
            std::thread::spawn(move || {
                for _ in 0..ROUNDS {
                    round.wait();
                    sender.send(read_now(&read, &mut [0; 8])).unwrap();
                }
            });
        }
        for number in 0..ROUNDS {
            write.write_all(b"1").unwrap();
            round.wait();
            let both = [(); 2].map(|()| results.recv_timeout(Duration::from_secs(60)));
            let both = both.map(|result| {
                result.unwrap_or_else(|_| panic!("a reader waits in round {number}"))
            });
            assert!(
                both.contains(&Ok(1)) && both.contains(&Err(Errno::AGAIN)),
                "{both:?}"
            );
        }
    }
}

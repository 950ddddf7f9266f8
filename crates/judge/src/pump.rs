//! Moving a run's input and output through pipes: one thread, splice(2), no copies through us.
//!
//! A run that wrote nothing yet is waited for at its pipes: their end is the run's end. As
//! little as can be is done while the program runs, since whoever wakes us in write(2) pays for
//! it with CPU time of its own: input that fits in its pipe is there before the program starts,
//! and small outputs are left to gather for a while.
//!
//! Splicing to a pipe whose reader is gone raises SIGPIPE, which Rust's run-time system has
//! ignored since before `main`; whoever undoes that ends the judge here.

use crate::batch::JudgeFailure;
use crate::feedback::{WATCH_INTERVAL, Watch};
use millibox::{Handle, RunResult};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, Mode, fchmod, fstat, ftruncate, memfd_create, tell};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// Bytes that a pipe holds unless it is told otherwise (pipe(7)).
const DEFAULT_PIPE_BYTES: u64 = 64 << 10;
/// Most that an input pipe is enlarged to, the kernel's default maximum. Its pages are the page
/// cache's.
const MAX_INPUT_PIPE_BYTES: u64 = 1 << 20;
/// An output pipe's size. Its pages are charged to the run, so it is no larger.
const OUTPUT_PIPE_BYTES: usize = 256 << 10;
/// Bytes moved at once.
const MAX_SPLICE_BYTES: u64 = 1 << 20;
/// Less than this is not worth a wake-up: what comes next is left to gather for [`GATHER_TIME`].
const SMALL_OUTPUT_BYTES: u64 = 16 << 10;
/// An output pipe would have to fill in this time to stop its writer.
const GATHER_TIME: Duration = Duration::from_millis(1);
/// How often the result is asked for while the pipes say nothing. They say all that there is to
/// say unless a descriptor outlives the run for a while, as one under way in a socket may.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A run's input on its way.
pub(crate) struct Input<'a> {
    file: BorrowedFd<'a>,
    /// In place of the file, if that cannot be spliced.
    copy: Option<File>,
    offset: u64,
    /// `None`: all is in the pipe, or nobody reads it any more.
    pipe: Option<OwnedFd>,
}

/// A pipe belongs to who made it. A run that has /proc opens its end again as /dev/stdin or /dev/stdout, with these
/// permissions: so that it can if it is somebody else, and cannot open the other end.
fn open_again(pipe: &OwnedFd, mode: Mode) -> Result<(), JudgeFailure> {
    fchmod(pipe, mode).map_err(failed("open a pipe to its run"))
}

impl<'a> Input<'a> {
    /// A pipe that will give what is in `file`, and can be read once; its reading end.
    pub fn new(file: BorrowedFd<'a>) -> Result<(Input<'a>, Arc<OwnedFd>), JudgeFailure> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(failed("make a pipe"))?;
        let length = fstat(file).map_err(failed("look at the input"))?.st_size as u64;
        if length > DEFAULT_PIPE_BYTES {
            // One page more, so that the last splice finds the end. An unprivileged user's pipes
            // may be as large as they will get (pipe(7)); then they are filled more often.
            let _ = fcntl_setpipe_size(&write, (length + 4096).min(MAX_INPUT_PIPE_BYTES) as usize);
        }
        let mut input = Input { file, copy: None, offset: 0, pipe: Some(write) };
        input.fill()?;
        open_again(&read, Mode::from_raw_mode(0o444))?;
        Ok((input, Arc::new(read)))
    }

    /// Of a run whose standard input is not ours to move.
    pub fn none() -> Input<'static> {
        Input { file: rustix::fs::CWD, copy: None, offset: 0, pipe: None }
    }

    /// Puts as much into the pipe as it takes.
    fn fill(&mut self) -> Result<(), JudgeFailure> {
        while let Some(pipe) = &self.pipe {
            let from = self.copy.as_ref().map_or(self.file, |copy| copy.as_fd());
            match splice(from, Some(&mut self.offset), pipe, None, MAX_SPLICE_BYTES as usize, SpliceFlags::NONBLOCK) {
                // A program need not read its input.
                Ok(0) | Err(Errno::PIPE) => self.pipe = None,
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                // Not every file system's files can be spliced.
                Err(Errno::INVAL) if self.copy.is_none() => self.copy = Some(copy(self.file)?),
                Err(errno) => return Err(failed("read the input")(errno)),
            }
        }
        Ok(())
    }
}

/// Where a run's output goes.
#[derive(Debug)]
pub(crate) enum Sink<'a> {
    /// All of it, from the file's position on.
    File(&'a File),
    /// The first so many bytes; the rest is read and forgotten.
    Head(&'a mut Vec<u8>, usize),
}

/// A run's output on its way.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    /// `None`: the end has come, or more than the limit.
    pipe: Option<OwnedFd>,
    sink: Sink<'a>,
    limit: u64,
    moved: u64,
}

impl<'a> Output<'a> {
    /// A pipe that takes at most `limit` bytes; its writing end.
    pub fn new(sink: Sink<'a>, limit: u64) -> Result<(Output<'a>, Arc<OwnedFd>), JudgeFailure> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(failed("make a pipe"))?;
        if matches!(sink, Sink::File(_)) {
            let _ = fcntl_setpipe_size(&write, OUTPUT_PIPE_BYTES);
        }
        open_again(&write, Mode::from_raw_mode(0o222))?;
        Ok((Output { pipe: Some(read), sink, limit, moved: 0 }, Arc::new(write)))
    }

    fn over(&self) -> bool {
        self.moved > self.limit
    }

    /// Moves what is there; how much that was.
    fn take(&mut self) -> Result<u64, JudgeFailure> {
        let before = self.moved;
        while let Some(pipe) = &self.pipe {
            // One byte more than is allowed tells that there is more.
            let most = (self.limit - self.moved).saturating_add(1).min(MAX_SPLICE_BYTES);
            let moved = match &mut self.sink {
                Sink::File(file) => splice(pipe, None, file, None, most as usize, SpliceFlags::NONBLOCK),
                Sink::Head(head, limit) => read_some(pipe, head, *limit, most),
            };
            match moved {
                Ok(0) => self.pipe = None,
                Ok(bytes) => {
                    self.moved += bytes as u64;
                    if self.over() {
                        self.pipe = None;
                        if let Sink::File(file) = &self.sink {
                            let excess = self.moved - self.limit;
                            tell(file)
                                .and_then(|end| ftruncate(file, end - excess))
                                .map_err(failed("cut the output"))?;
                        }
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(errno) => return Err(failed("keep the output")(errno)),
            }
        }
        Ok(self.moved - before)
    }
}

/// One read from a pipe of which the beginning is kept. Does not wait.
fn read_some(pipe: &OwnedFd, head: &mut Vec<u8>, limit: usize, most: u64) -> rustix::io::Result<usize> {
    let mut chunk = [0; 16 << 10];
    let wanted = chunk.len().min(most as usize);
    let read = read_now(pipe, &mut chunk[..wanted])?;
    head.extend_from_slice(&chunk[..read.min(limit - head.len())]);
    Ok(read)
}

/// A read that does not wait. To look first is not enough: a run of our own user's that has /proc can open its
/// standard output for reading, and take what we saw. O_NONBLOCK would be the run's as well.
pub(crate) fn read_now(pipe: &OwnedFd, buffer: &mut [u8]) -> rustix::io::Result<usize> {
    /// Where the pipe stands, preadv2(2).
    const CURRENT_POSITION: u64 = u64::MAX;
    match preadv2(pipe, &mut [std::io::IoSliceMut::new(buffer)], CURRENT_POSITION, ReadWriteFlags::NOWAIT) {
        // Pipes know it since Linux 6.4.
        Err(Errno::OPNOTSUPP) => {}
        read => return read,
    }
    let mut ready = [PollFd::new(pipe, PollFlags::IN)];
    if poll(&mut ready, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? == 0 {
        return Err(Errno::AGAIN);
    }
    rustix::io::read(pipe, buffer)
}

/// Moves input and outputs of a run until it is over; its result.
///
/// Too much output ends the run, and so does what `watch` finds. When this returns, all that the run wrote has
/// been taken.
pub(crate) fn pump(
    run: &Handle,
    input: &mut Input<'_>,
    outputs: &mut [Output<'_>],
    mut watch: Option<&mut Watch<'_>>,
) -> Result<RunResult, JudgeFailure> {
    let tick = if watch.is_some() { WATCH_INTERVAL } else { POLL_INTERVAL };
    let mut told = false;
    while input.pipe.is_some() || outputs.iter().any(|output| output.pipe.is_some()) {
        let (input_ready, output_ready) = wait(input, outputs, tick)?;
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
        if !told && outputs.iter().any(Output::over) {
            told = true;
            run.kill_for_output();
        }
        let over = if !input_ready && !output_ready {
            run.try_wait()?
        } else if output_ready && moved < SMALL_OUTPUT_BYTES && input.pipe.is_none() {
            // With input left, the program might wait for it while we wait for the program.
            run.wait_timeout(GATHER_TIME)?
        } else {
            None
        };
        if over.is_some() {
            break;
        }
    }
    let result = loop {
        let Some(watch) = &mut watch else { break run.wait()? };
        match run.wait_timeout(tick)? {
            Some(result) => break result,
            None => watch.check(run),
        }
    };
    // All processes are gone: what they wrote is in the pipes.
    for output in outputs.iter_mut() {
        output.take()?;
    }
    if !told && outputs.iter().any(Output::over) {
        run.kill_for_output();
        return Ok(run.wait()?);
    }
    Ok(result)
}

/// Waits for one of the pipes; whether that of the input is ready, and any of the outputs.
fn wait(input: &Input<'_>, outputs: &[Output<'_>], timeout: Duration) -> Result<(bool, bool), JudgeFailure> {
    let mut ready: Vec<PollFd<'_>> = Vec::with_capacity(outputs.len() + 1);
    ready.extend(input.pipe.iter().map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
    let inputs = ready.len();
    ready.extend(outputs.iter().filter_map(|output| output.pipe.as_ref()).map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    let timeout = Timespec::try_from(timeout).ok();
    match poll(&mut ready, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(failed("wait for the run's pipes")(errno)),
    }
    let any = |ready: &[PollFd<'_>]| ready.iter().any(|one| !one.revents().is_empty());
    Ok((any(&ready[..inputs]), any(&ready[inputs..])))
}

/// An unnamed file in memory.
pub(crate) fn memory_file() -> Result<File, JudgeFailure> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    Ok(File::from(memfd_create("millibox-output", flags).map_err(failed("make a file in memory"))?))
}

fn copy(from: BorrowedFd<'_>) -> Result<File, JudgeFailure> {
    let mut copy = memory_file()?;
    let mut buffer = vec![0; DEFAULT_PIPE_BYTES as usize];
    let mut offset = 0;
    loop {
        let read = rustix::io::retry_on_intr(|| rustix::io::pread(from, &mut buffer, offset));
        match read.map_err(failed("read the input"))? {
            0 => return Ok(copy),
            read => {
                copy.write_all(&buffer[..read]).map_err(|error| JudgeFailure::new("copy the input", &error))?;
                offset += read as u64;
            }
        }
    }
}

fn failed(what: &'static str) -> impl FnOnce(Errno) -> JudgeFailure {
    move |errno| JudgeFailure::new(what, &errno)
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
    fn a_read_that_does_not_wait() {
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
    fn two_who_read_one_byte_do_not_wait_for_a_second() {
        const ROUNDS: usize = 3000;
        let (read, mut write) = pipe();
        let mut byte = [0];
        let mut one = [std::io::IoSliceMut::new(&mut byte)];
        if preadv2(&read, &mut one, u64::MAX, ReadWriteFlags::NOWAIT) == Err(Errno::OPNOTSUPP) {
            eprintln!("SKIPPED: before Linux 6.4 a pipe cannot be read so, and who looks first may wait");
            return;
        }
        let (read, round) = (Arc::new(read), Arc::new(Barrier::new(3)));
        let (told, results) = mpsc::channel();
        for _ in 0..2 {
            let (read, round, told) = (read.clone(), round.clone(), told.clone());
            std::thread::spawn(move || {
                for _ in 0..ROUNDS {
                    round.wait();
                    told.send(read_now(&read, &mut [0; 8])).unwrap();
                }
            });
        }
        for number in 0..ROUNDS {
            write.write_all(b"1").unwrap();
            round.wait();
            let both = [(); 2].map(|()| results.recv_timeout(Duration::from_secs(60)));
            let both = both.map(|result| result.unwrap_or_else(|_| panic!("in round {number} one waits")));
            assert!(both.contains(&Ok(1)) && both.contains(&Err(Errno::AGAIN)), "{both:?}");
        }
    }
}

//! A run that was started.
//!
//! No thread belongs to a run. A thread that waits reads the output and the result itself. The
//! descriptor of a run is readable when the run's result or the output can be read; if the output
//! is captured, it is an epoll instance (epoll(7)) with the event of the run and both pipes.
#![allow(unsafe_code, reason = "the functions are exported by name")]

use crate::border::{self, Owned, checked, given, returned};
use crate::error::Error;
use crate::program::{MILLIBOX_UNLIMITED, Program};
use crate::result::{Finished, ProgramResult};
use crate::sandbox::Sandbox;
use millibox::{Capture, Handle, RunResult, Supervisor};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A run that was started. Freeing it ends the program.
///
/// Any number of threads may use a run at the same time, for example one that waits and one that
/// polls. Only millibox_run_wait waits.
pub struct Run {
    run: Owned<Started>,
}

struct Started {
    handle: Handle,
    /// The captured output, and the descriptor that watches it.
    capture: Mutex<Captured>,
    finished: OnceLock<Arc<Finished>>,
}

struct Captured {
    /// `None` if no output is captured or the run has ended.
    capture: Option<Capture>,
    watch: Option<OwnedFd>,
    /// Whether `watch` watches the event of the run.
    watches_event: bool,
}

impl Started {
    fn new(supervisor: &Supervisor, program: &Program) -> Result<Started, Error> {
        let request = program.request()?;
        let (handle, capture) = match program.captured() {
            Some(streams) => {
                let max_bytes = program.max_output_bytes();
                let (handle, capture) = supervisor.capture(&request, streams, max_bytes)?;
                (handle, Some(capture))
            }
            None => (supervisor.run(&request)?, None),
        };
        Ok(Started {
            handle,
            capture: Mutex::new(Captured {
                capture,
                watch: None,
                watches_event: false,
            }),
            finished: OnceLock::new(),
        })
    }

    /// Returns the result, after at most `timeout`. No thread holds the lock while it waits, so any
    /// number of threads can wait and poll.
    fn wait(&self, timeout: Option<Duration>) -> Result<Option<ProgramResult>, Error> {
        if let Some(finished) = self.finished.get() {
            return Ok(Some(ProgramResult(finished.clone())));
        }
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let left = || deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        loop {
            let pipes = self.captured().pipes();
            if pipes.is_empty() {
                break;
            }
            wait_for_output(&pipes, left()).map_err(watch_failed)?;
            let mut captured = self.captured();
            if captured.read(&self.handle)? {
                break;
            }
            if left().is_some_and(|left| left.is_zero()) {
                captured.rest(&self.handle)?;
                return Ok(None);
            }
        }
        let result = match left() {
            None => self.handle.wait()?,
            Some(left) => match self.handle.wait_timeout(left)? {
                Some(result) => result,
                None => return Ok(None),
            },
        };
        self.finish(result).map(Some)
    }

    /// Stores the result of the run, whose output has ended, for all threads.
    fn finish(&self, result: RunResult) -> Result<ProgramResult, Error> {
        let mut captured = self.captured();
        captured.watch_event(&self.handle, true)?;
        let capture = captured.capture.take();
        if let Some(error) = Error::of_outcome(&result.outcome) {
            return Err(error);
        }
        // Another thread may have stored the result, and the output with it.
        let finished = self.finished.get_or_init(|| match capture {
            Some(capture) => {
                let output = capture.into_output(result);
                let streams = [output.stdout, output.stderr];
                Arc::new(Finished::new(output.result, streams, output.truncated))
            }
            None => Arc::new(Finished::new(result, Default::default(), false)),
        });
        Ok(ProgramResult(finished.clone()))
    }

    fn captured(&self) -> MutexGuard<'_, Captured> {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The descriptor that becomes readable when `wait` can make progress.
    fn descriptor(&self) -> Result<c_int, Error> {
        let event = self.handle.event()?;
        let mut captured = self.captured();
        if let Some(watch) = &captured.watch {
            return Ok(watch.as_raw_fd());
        }
        let Some(capture) = &captured.capture else {
            return Ok(event.as_raw_fd());
        };
        let watch = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(watch_failed)?;
        for descriptor in capture.descriptors() {
            add(&watch, descriptor).map_err(watch_failed)?;
        }
        let number = watch.as_raw_fd();
        captured.watch = Some(watch);
        if let Err(error) = captured.watch_event(&self.handle, true) {
            captured.watch = None;
            return Err(error);
        }
        Ok(number)
    }
}

impl Captured {
    /// The pipes whose end was not read yet.
    fn pipes(&self) -> Vec<Arc<OwnedFd>> {
        self.capture.iter().flat_map(Capture::pipes).collect()
    }

    /// Reads the available output. Returns whether all of it was read.
    fn read(&mut self, handle: &Handle) -> Result<bool, Error> {
        match &mut self.capture {
            Some(capture) => {
                let before = capture.pipes().collect::<Vec<_>>();
                let ended = capture.read(handle, Some(Duration::ZERO))?;
                // A forked process may hold a copy of a pipe, and then the pipe would stay in the
                // watch after it was closed here.
                if let Some(watch) = &self.watch {
                    for pipe in before {
                        if !capture.pipes().any(|open| Arc::ptr_eq(&open, &pipe)) {
                            epoll::delete(watch, &pipe).map_err(watch_failed)?;
                        }
                    }
                }
                Ok(ended)
            }
            None => Ok(true),
        }
    }

    /// Stops watching the event of a run that has ended before its output, because the event stays
    /// readable.
    fn rest(&mut self, handle: &Handle) -> Result<(), Error> {
        if self.watches_event && handle.try_wait()?.is_some() {
            self.watch_event(handle, false)?;
        }
        Ok(())
    }

    fn watch_event(&mut self, handle: &Handle, watches: bool) -> Result<(), Error> {
        let Some(watch) = self
            .watch
            .as_ref()
            .filter(|_| self.watches_event != watches)
        else {
            return Ok(());
        };
        let event = handle.event()?;
        if watches {
            add(watch, event).map_err(watch_failed)?;
        } else {
            epoll::delete(watch, event).map_err(watch_failed)?;
        }
        self.watches_event = watches;
        Ok(())
    }
}

/// Waits until a pipe is readable or has ended, for at most `timeout`.
fn wait_for_output(pipes: &[Arc<OwnedFd>], timeout: Option<Duration>) -> rustix::io::Result<()> {
    let mut polled: Vec<PollFd> = pipes
        .iter()
        .map(|pipe| PollFd::new(pipe, PollFlags::IN))
        .collect();
    // A timeout that is too long for the kernel is as good as none.
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

fn add(watch: &OwnedFd, descriptor: impl AsFd) -> rustix::io::Result<()> {
    let number = descriptor.as_fd().as_raw_fd();
    let data = epoll::EventData::new_u64(number.unsigned_abs().into());
    epoll::add(watch, descriptor, data, epoll::EventFlags::IN)
}

fn watch_failed(errno: Errno) -> Error {
    Error::system("watch a run", &errno.into())
}

/// Runs a program to its end. The caller frees `*result` with millibox_result_free.
///
/// A program that fails is a result. The error MILLIBOX_CODE_INVALID means that a value is
/// wrong, and other errors mean that the sandbox failed.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn millibox_sandbox_run(
    sandbox: Option<&Sandbox>,
    program: Option<&Program>,
    result: Option<&mut MaybeUninit<Option<Box<ProgramResult>>>>,
) -> Option<Box<Error>> {
    checked(|| {
        returned(result, "result", || {
            let started = Started::new(Sandbox::given(sandbox)?, given(program, "program")?)?;
            started.wait(None)
        })
    })
}

/// Starts a program without waiting. Many runs may be outstanding; those that find no free slot
/// wait in a queue. The caller frees `*run` with millibox_run_free.
///
/// The program may be changed or freed afterwards.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn millibox_sandbox_start(
    sandbox: Option<&Sandbox>,
    program: Option<&Program>,
    run: Option<&mut MaybeUninit<Option<Box<Run>>>>,
) -> Option<Box<Error>> {
    checked(|| {
        returned(run, "run", || {
            let started = Started::new(Sandbox::given(sandbox)?, given(program, "program")?)?;
            let run = Owned::new(started);
            Ok(Some(Run { run }))
        })
    })
}

/// Returns a descriptor for poll(2) and event loops. When it is readable, call millibox_run_poll,
/// which reads the available output. The descriptor belongs to the run and is closed with it: do
/// not read from it, and remove it from the event loop before you free the run.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn millibox_run_fd(
    run: Option<&Run>,
    descriptor: Option<&mut MaybeUninit<c_int>>,
) -> Option<Box<Error>> {
    checked(|| {
        let descriptor = given(descriptor, "descriptor")?.write(-1);
        *descriptor = given(run, "run")?.run.here()?.descriptor()?;
        Ok(())
    })
}

/// Returns the result if the run has ended, and otherwise reads the available output and sets
/// `*result` to NULL. Does not wait. The caller frees `*result` with millibox_result_free; further
/// calls return the same result again.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn millibox_run_poll(
    run: Option<&Run>,
    result: Option<&mut MaybeUninit<Option<Box<ProgramResult>>>>,
) -> Option<Box<Error>> {
    checked(|| {
        returned(result, "result", || {
            given(run, "run")?.run.here()?.wait(Some(Duration::ZERO))
        })
    })
}

/// Waits for the result for at most `timeout_ns` nanoseconds, or without a limit if it is
/// MILLIBOX_UNLIMITED. After the timeout, sets `*result` to NULL. The caller frees `*result` with
/// millibox_result_free; further calls return the same result again.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn millibox_run_wait(
    run: Option<&Run>,
    timeout_ns: u64,
    result: Option<&mut MaybeUninit<Option<Box<ProgramResult>>>>,
) -> Option<Box<Error>> {
    checked(|| {
        returned(result, "result", || {
            let timeout = (timeout_ns != MILLIBOX_UNLIMITED).then_some(timeout_ns);
            given(run, "run")?
                .run
                .here()?
                .wait(timeout.map(Duration::from_nanos))
        })
    })
}

/// Ends the program. The outcome of the run is MILLIBOX_OUTCOME_CANCELLED, unless it has ended
/// already. Any thread may call this, also while another thread waits for the run.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_run_cancel(run: Option<&Run>) {
    border::or((), || {
        if let Some(run) = run {
            run.run.handle.cancel();
        }
    });
}

/// Frees a run. If it has not ended, ends the program. No other thread may be using the run.
/// Results remain valid. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn millibox_run_free(run: Option<Box<Run>>) {
    border::or((), || drop(run));
}

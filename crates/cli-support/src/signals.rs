//! Ctrl-C and other signals end a command in an orderly way: its work leaves nothing behind and is
//! still reported.

use crate::failure::{Failure, complain, no_thread};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Temporary files that must be removed if a signal exits the process.
static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// The temporary files that must be removed if a signal exits the process. Create a file while this
/// lock is held and push its path before the lock is released.
pub fn temporaries() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
struct State {
    caught: Option<i32>,
    end: Option<Box<dyn Fn() + Send>>,
    /// The work that `end` would stop is over.
    is_over: bool,
    /// The process may be waiting for another process, with no work to end.
    waiting: bool,
}

/// The signals that a command catches.
pub struct Signals {
    program: &'static str,
    state: Arc<Mutex<State>>,
}

impl Signals {
    /// Catches SIGINT, SIGQUIT, SIGTERM and SIGHUP from now on. SIGHUP stays ignored if it is
    /// ignored (nohup(1)). The others are caught even in the background of a script, where the
    /// shell ignores them, as timeout(1) does. `program` begins the messages on standard error.
    ///
    /// # Errors
    /// The signals cannot be caught, or the thread that waits for them cannot be started.
    pub fn catch(program: &'static str) -> Result<Signals, Failure> {
        let state = Arc::new(Mutex::new(State::default()));
        let ignored = ignored(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        let hangup = Some(SIGHUP).filter(|signal| ignored & 1 << (signal - 1) == 0);
        let wanted = [SIGINT, SIGQUIT, SIGTERM].into_iter().chain(hangup);
        let mut signals = signal_hook::iterator::Signals::new(wanted).map_err(|error| {
            let remedy = match error.raw_os_error() {
                Some(libc::EMFILE) => "; raise the limit on open files (ulimit -n) for millibox",
                _ => "",
            };
            Failure::sandbox(format!("cannot catch signals: {error}{remedy}"))
        })?;
        let seen = state.clone();
        let watch = move || {
            for signal in signals.forever() {
                let mut state = lock(&seen);
                state.caught.get_or_insert(signal);
                if state.waiting {
                    exit(program, signal);
                }
                if let Some(end) = &state.end {
                    end();
                }
            }
        };
        std::thread::Builder::new()
            .spawn(watch)
            .map_err(|error| no_thread("that waits for signals", &error))?;
        Ok(Signals { program, state })
    }

    /// Ends the command as SIGTERM does when standard input ends. The caller holds the write end of
    /// a pipe, so the command also ends if the caller is killed.
    ///
    /// # Errors
    /// The thread that reads standard input cannot be started.
    pub fn terminate_at_end_of_input(&self) -> Result<(), Failure> {
        let watch = || {
            // After an error, the end could no longer be noticed.
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            let _ = signal_hook::low_level::raise(SIGTERM);
        };
        std::thread::Builder::new()
            .spawn(watch)
            .map_err(|error| no_thread("that reads standard input", &error))?;
        Ok(())
    }

    /// The first signal that arrived.
    pub fn caught(&self) -> Option<i32> {
        lock(&self.state).caught
    }

    /// If a signal arrived, reports it with its consequence for the work, and returns the exit
    /// status.
    pub fn ended(&self, what: &str) -> Option<ExitCode> {
        let signal = self.caught()?;
        complain(format_args!(
            "{}: received {}; {what}",
            self.program,
            name(signal)
        ));
        Some(ExitCode::from(status(signal)))
    }

    /// Calls `end` at each signal, and at once if a signal has arrived already. `end` must not wait
    /// for anything.
    pub fn end_with(&self, end: impl Fn() + Send + 'static) {
        let mut state = lock(&self.state);
        if state.caught.is_some() {
            end();
        }
        state.end = Some(Box::new(end));
    }

    /// The work is over: signals no longer call `end`.
    pub fn forget(&self) {
        let mut state = lock(&self.state);
        (state.end, state.is_over) = (None, true);
    }

    /// Does work that may wait for another process, such as opening a FIFO. A signal then exits the
    /// process at once. So does a signal that has arrived earlier, unless the work that it ended is
    /// over.
    pub fn may_wait<T>(&self, work: impl FnOnce() -> T) -> T {
        let set = |waiting: bool| {
            let mut state = lock(&self.state);
            if let Some(signal) = state.caught.filter(|_| !state.is_over) {
                exit(self.program, signal);
            }
            state.waiting = waiting;
        };
        set(true);
        let done = work();
        set(false);
        done
    }
}

/// Removes the temporary files and exits the process.
fn exit(program: &str, signal: i32) -> ! {
    // The lock is held until the exit, so no other thread creates one meanwhile.
    let mut temporaries = temporaries();
    temporaries
        .drain(..)
        .for_each(|path| drop(std::fs::remove_file(path)));
    complain(format_args!("{program}: received {}", name(signal)));
    std::process::exit(status(signal).into())
}

/// The signal's name, for example `SIGINT`.
pub fn name(signal: i32) -> &'static str {
    signal_hook::low_level::signal_name(signal).unwrap_or("a signal")
}

/// The exit status after a signal, as in shells.
fn status(signal: i32) -> u8 {
    128 + (signal & 0x7f) as u8
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The ignored signals, as a mask (proc_pid_status(5), SigIgn).
fn ignored(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_status() {
        let mask = ignored("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n");
        assert_eq!(mask, 1 << (SIGHUP - 1) | 1 << (libc::SIGPIPE - 1));
        assert_eq!(ignored(""), 0);
    }
}

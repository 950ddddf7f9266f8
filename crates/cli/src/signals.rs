//! Ctrl-C and its kin end what runs; it leaves nothing behind and is still reported.

use crate::failure::{Failure, complain, no_thread};
use crate::report_file;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard};

#[derive(Default)]
struct State {
    caught: Option<i32>,
    end: Option<Box<dyn Fn() + Send>>,
    /// What was to be ended is over.
    over: bool,
    /// We may be waiting for somebody else, with nothing to be ended.
    waiting: bool,
}

/// Signals that are caught.
pub struct Signals {
    state: Arc<Mutex<State>>,
}

impl Signals {
    /// From here on these signals do not end us. SIGHUP stays ignored if it is (nohup(1));
    /// the others mean us even in the background of a script, as with timeout(1).
    pub fn catch() -> Result<Signals, Failure> {
        let state = Arc::new(Mutex::new(State::default()));
        let ignored = ignored(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        let hangup = Some(SIGHUP).filter(|signal| ignored & 1 << (signal - 1) == 0);
        let wanted = [SIGINT, SIGQUIT, SIGTERM].into_iter().chain(hangup);
        let mut signals = signal_hook::iterator::Signals::new(wanted).map_err(|error| {
            let remedy = match error.raw_os_error() {
                Some(libc::EMFILE) => "; raise the limit on open files (ulimit -n) around millibox",
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
                    leave(signal);
                }
                if let Some(end) = &state.end {
                    end();
                }
            }
        };
        std::thread::Builder::new().spawn(watch).map_err(|error| no_thread("that waits for signals", &error))?;
        Ok(Signals { state })
    }

    /// The first signal that came.
    pub fn caught(&self) -> Option<i32> {
        lock(&self.state).caught
    }

    /// If a signal came, says so, and what became of the work for it; the exit status.
    pub fn ended(&self, what: &str) -> Option<ExitCode> {
        let signal = self.caught()?;
        complain(format_args!("millibox: told to end by {}; {what}", name(signal)));
        Some(ExitCode::from(status(signal)))
    }

    /// A signal, even one that has come already, does this. It must not wait for anything.
    pub fn end_with(&self, end: impl Fn() + Send + 'static) {
        let mut state = lock(&self.state);
        if state.caught.is_some() {
            end();
        }
        state.end = Some(Box::new(end));
    }

    /// What was to be ended is over.
    pub fn forget(&self) {
        let mut state = lock(&self.state);
        (state.end, state.over) = (None, true);
    }

    /// Does what may wait for somebody else, as opening a FIFO does: there a signal ends us at once, and so does one
    /// that has come before, unless it has ended what it was to end.
    pub fn may_wait<T>(&self, work: impl FnOnce() -> T) -> T {
        let set = |waiting: bool| {
            let mut state = lock(&self.state);
            if let Some(signal) = state.caught.filter(|_| !state.over) {
                leave(signal);
            }
            state.waiting = waiting;
        };
        set(true);
        let done = work();
        set(false);
        done
    }
}

/// Ends us, with nothing left behind.
fn leave(signal: i32) -> ! {
    report_file::without_temporaries(|| {
        complain(format_args!("millibox: told to end by {}", name(signal)));
        std::process::exit(status(signal).into())
    })
}

/// What people call it.
pub fn name(signal: i32) -> &'static str {
    signal_hook::low_level::signal_name(signal).unwrap_or("a signal")
}

/// The exit status for it, as shells have it.
fn status(signal: i32) -> u8 {
    128 + (signal & 0x7f) as u8
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Signals that are ignored, as a mask (proc_pid_status(5), SigIgn).
fn ignored(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read() {
        let mask = ignored("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n");
        assert_eq!(mask, 1 << (SIGHUP - 1) | 1 << (libc::SIGPIPE - 1));
        assert_eq!(ignored(""), 0);
    }
}

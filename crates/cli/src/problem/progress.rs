//! Progress of the work: a bar on a terminal, and lines on standard output.

use crate::failure::{Failure, say};
use crate::signals::Signals;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::PoisonError;

/// The progress of a task.
pub struct Progress<'s> {
    bar: Mutex<ProgressBar>,
    /// Steps are printed on standard output.
    lines: bool,
    /// After a signal, steps fail because of it and are not printed.
    signals: &'s Signals,
    /// The first error of a line; no more lines are printed.
    failed: Mutex<Option<Failure>>,
}

impl<'s> Progress<'s> {
    /// If `lines` is true, each step is printed.
    pub fn new(lines: bool, signals: &'s Signals) -> Progress<'s> {
        Progress {
            bar: Mutex::new(ProgressBar::hidden()),
            lines,
            signals,
            failed: Mutex::new(None),
        }
    }

    /// Removes the bar, and returns an error if a line could not be printed.
    pub fn finish(self) -> Result<(), Failure> {
        self.bar().finish_and_clear();
        self.failed
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .map_or(Ok(()), Err)
    }

    /// Prints a line on standard output.
    pub fn line(&self, line: &str) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.is_none() {
            *failed = self.bar().suspend(|| say(line)).err();
        }
    }

    fn bar(&self) -> std::sync::MutexGuard<'_, ProgressBar> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl millibox_setter::Progress for Progress<'_> {
    fn begin(&self, what: &str, steps: usize) {
        let mut bar = self.bar();
        bar.finish_and_clear();
        if std::io::stderr().is_terminal() {
            let new =
                ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len}") {
                new.set_style(style);
            }
            new.set_prefix(what.to_owned());
            *bar = new;
        }
    }

    fn step(&self, line: &str) {
        if self.lines && !line.is_empty() && self.signals.caught().is_none() {
            self.line(line);
        }
        self.bar().inc(1);
    }
}

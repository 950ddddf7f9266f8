//! What goes on: a bar where people look, plain lines where they do not.

use crate::failure::{Failure, say};
use crate::signals::Signals;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::PoisonError;

/// See the module.
pub struct Progress<'s> {
    bar: Mutex<ProgressBar>,
    /// Lines of steps are told, on standard output.
    lines: bool,
    /// After one of them, what fails does so for it, and is nothing to tell.
    signals: &'s Signals,
    /// Why a line was not told; no other is, then.
    failed: Mutex<Option<Failure>>,
}

impl<'s> Progress<'s> {
    /// `lines`: what each step says is told, too.
    pub fn new(lines: bool, signals: &'s Signals) -> Progress<'s> {
        Progress {
            bar: Mutex::new(ProgressBar::hidden()),
            lines,
            signals,
            failed: Mutex::new(None),
        }
    }

    /// The work is over: nothing is left of the bar. Says whether all lines could be told.
    pub fn finish(self) -> Result<(), Failure> {
        self.bar().finish_and_clear();
        self.failed
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .map_or(Ok(()), Err)
    }

    /// A line on standard output.
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

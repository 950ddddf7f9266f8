//! The signals of a template.
//!
//! pid1 of a run is in the template's memory, and its handlers would be those of the template. The
//! kernel delivers a signal that has a handler to process 1 of a PID namespace, even from inside
//! (`sig_task_ignored()` in kernel/signal.c). So a run could execute a handler that changes the
//! template, and with it all later runs. Therefore the template blocks all signals before its first
//! run, for good, and sets all dispositions to the default. pid1 inherits both. Each copy restores
//! the original state.

use crate::sys::Result;
use crate::sys::calls::{self, SignalAction, SignalStack};

/// The state of signals that a copy restores.
pub struct Signals {
    mask: u64,
    /// Signals with another disposition than the default.
    actions: Vec<(i32, SignalAction)>,
    /// The kernel removes the alternate stack of a process that is cloned with `CLONE_VM`.
    stack: Option<SignalStack>,
}

impl Signals {
    /// Blocks all signals and resets their dispositions. Returns the previous state.
    pub fn take() -> Result<Signals> {
        let mut signals = Signals {
            mask: calls::replace_signal_mask(u64::MAX)?,
            actions: Vec::new(),
            stack: SignalStack::of_thread()?,
        };
        // The dispositions of SIGKILL and SIGSTOP cannot be changed.
        for signal in (1..=64).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal)) {
            let action = calls::replace_signal_action(signal, &SignalAction::default())?;
            if action != SignalAction::default() {
                signals.actions.push((signal, action));
            }
        }
        Ok(signals)
    }

    /// Restores the state in a copy. Signals are unblocked last.
    pub fn restore(&self) -> Result<()> {
        for (signal, action) in &self.actions {
            calls::replace_signal_action(*signal, action)?;
        }
        if let Some(stack) = &self.stack {
            stack.install()?;
        }
        calls::replace_signal_mask(self.mask).map(drop)
    }
}

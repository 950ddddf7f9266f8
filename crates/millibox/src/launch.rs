//! Supervisors that another process starts. A small privileged process starts them, so that the
//! process that uses them needs no privileges.

use crate::connection::peek_cgroups;
use crate::process::Process;
use crate::{Builder, Error, LaunchOptions, Launched, Launcher, Supervisor};
use std::fmt::Debug;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// The time that [`Builder::launch`] waits for the greeting of the supervisor.
const GREETING_TIMEOUT: Duration = Duration::from_secs(10);

/// A supervisor that this process has started for another process. This process must wait for the
/// supervisor's end.
///
/// ```
/// use millibox::{Launched, Supervisor};
///
/// let Ok((launched, process)) = Supervisor::builder().launch() else { return };
/// let Launched { socket, stderr, .. } = launched; // Usually sent to another process.
/// drop((socket, stderr)); // The supervisor ends with its socket.
/// process.wait_for_end();
/// ```
#[derive(Debug)]
pub struct LaunchedProcess {
    process: Process,
}

impl LaunchedProcess {
    /// Waits for the end of the process, and kills it if it has not ended after six seconds. If the
    /// keeper was killed, removes the cgroups that it left.
    pub fn wait_for_end(mut self) {
        self.process.wait_for_end();
    }
}

impl AsFd for LaunchedProcess {
    /// Returns a pidfd, which is readable when the process has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }
}

impl Builder {
    /// Lets `launcher` start the supervisor. Only [`LaunchOptions`] are passed on. The launcher
    /// chooses the executable, the backend, the cgroups and the user.
    #[must_use]
    pub fn launcher(mut self, launcher: std::sync::Arc<dyn Launcher>) -> Builder {
        self.launcher = Some(launcher);
        self
    }

    /// Sets the numeric options.
    #[must_use]
    pub fn launch_options(mut self, options: LaunchOptions) -> Builder {
        self.slots = options.slots;
        self.runners_per_slot = options.runners_per_slot;
        self.pin = options.pin_slots;
        self.cpus = options.cpus;
        self
    }

    /// Starts a supervisor for another process, and waits until it has started. The supervisor ends
    /// when this process ends.
    ///
    /// # Errors
    /// The supervisor cannot be found or executed, or an option is not valid. If the supervisor
    /// itself reports an error, the process that uses it receives the error.
    pub fn launch(&self) -> Result<(Launched, LaunchedProcess), Error> {
        let mut spawned = self.spawn()?;
        let failed = |error: io::Error| Error::System {
            what: "pass a supervisor on",
            error,
        };
        let process = spawned.process.as_fd().try_clone_to_owned();
        let stderr = spawned.process.take_stderr();
        let launched = Launched {
            process: process.map_err(failed)?,
            stderr: stderr.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?,
            socket: spawned.socket,
        };
        spawned.process.cgroups = peek_cgroups(&launched.socket, GREETING_TIMEOUT);
        Ok((
            launched,
            LaunchedProcess {
                process: spawned.process,
            },
        ))
    }

    pub(crate) fn numbers(&self) -> LaunchOptions {
        LaunchOptions {
            slots: self.slots,
            runners_per_slot: self.runners_per_slot,
            pin_slots: self.pin,
            cpus: self.cpus.clone(),
        }
    }
}

impl Supervisor {
    /// The user and group that a supervisor switches to if root starts it without specifying ids.
    /// They own no files and no other processes.
    pub const UNPRIVILEGED_IDS: (u32, u32) = millibox_wire::UNPRIVILEGED_IDS;
}

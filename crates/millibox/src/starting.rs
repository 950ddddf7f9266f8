//! A supervisor that has started but has not yet sent its first message.

use crate::connection::Connection;
use crate::executable::Executable;
use crate::process::Process;
use crate::{Backend, EndReason, Error, ProcessEnd, StartError, Supervisor, SupervisorStep};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

/// A supervisor that was started and may not be ready yet ([`Builder::begin`]). Dropping this value
/// ends the supervisor and waits for its end.
///
/// ```
/// use millibox::{Request, Supervisor};
///
/// let Ok(starting) = Supervisor::builder().slots(1).begin() else { return };
/// let request = Request::new("/bin/true"); // Prepared while the supervisor starts.
/// let Ok(supervisor) = starting.finish() else { return };
/// supervisor.run(&request).and_then(|run| run.wait()).unwrap();
/// ```
///
/// [`Builder::begin`]: crate::Builder::begin
#[must_use]
pub struct Starting {
    /// `None` once [`Starting::finish`] has taken it.
    pub(crate) socket: Option<OwnedFd>,
    pub(crate) process: Arc<Mutex<Process>>,
    /// `None` if another process has started the supervisor.
    pub(crate) executable: Option<Executable>,
    /// The parent of the cgroups, if the environment variable named it.
    pub(crate) parent_from_variable: Option<String>,
    /// Whether the caller chose the weaker backend by name.
    pub(crate) is_rlimit_chosen: bool,
    pub(crate) has_pairs: bool,
}

impl Starting {
    /// Waits until the supervisor is ready.
    ///
    /// # Errors
    /// The supervisor cannot start, or the executable is not a supervisor of this version.
    pub fn finish(mut self) -> Result<Supervisor, Error> {
        let Some(socket) = self.socket.take() else {
            unreachable!("only this function takes the socket, and it takes the value");
        };
        let watched = self.process.clone();
        let end_reason = Box::new(move || Process::locked(&watched).end_reason());
        let (connection, hello) = Connection::new(socket, end_reason).map_err(|reason| {
            // The socket is closed, so the child ends. Without this wait it would remain a zombie.
            Process::locked(&self.process).wait_for_end();
            match reason {
                EndReason::Failed(error) => {
                    let concerns_cgroups = matches!(
                        error.step,
                        SupervisorStep::Backend | SupervisorStep::CgroupParent
                    );
                    let parent = self.parent_from_variable.clone();
                    StartError::Failed {
                        error,
                        cgroup_parent: parent.filter(|_| concerns_cgroups),
                    }
                }
                reason @ EndReason::Process(ProcessEnd::Killed(_)) => StartError::Killed(reason),
                reason => match &self.executable {
                    Some(executable) => executable.not_supervisor(reason),
                    None => StartError::Killed(reason),
                },
            }
        })?;
        let cgroups = hello.cgroups.iter();
        Process::locked(&self.process).cgroups = cgroups
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect();
        let has_weak_backend = hello.backend == Backend::Rlimit && !self.is_rlimit_chosen;
        Ok(Supervisor::new(
            connection,
            hello,
            self.process.clone(),
            has_weak_backend,
            self.has_pairs,
        ))
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(socket) = self.socket.take() {
            drop(socket);
            Process::locked(&self.process).wait_for_end();
        }
    }
}

impl std::fmt::Debug for Starting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Starting")
            .field(
                "executable",
                &self.executable.as_ref().map(|known| &known.path),
            )
            .finish_non_exhaustive()
    }
}

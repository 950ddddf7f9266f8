//! One run that was asked for.

use crate::connection::Connection;
use crate::request::Names;
use crate::{Error, RunResult};
use millibox_wire::KillReason;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

/// Stands for one run: wait for it, poll it, kill it, cancel it, from any thread.
///
/// Dropping it cancels the run. It may outlive its [`Supervisor`](crate::Supervisor):
/// results that had come by then can still be read.
#[must_use = "a run whose handle is dropped is cancelled"]
pub struct Handle {
    connection: Arc<Connection>,
    id: u64,
    names: Names,
    event: OnceLock<Arc<OwnedFd>>,
}

impl Handle {
    pub(crate) fn new(connection: Arc<Connection>, id: u64, names: Names) -> Handle {
        Handle {
            connection,
            id,
            names,
            event: OnceLock::new(),
        }
    }

    /// Waits for the result. It stays here: asking again gives it again.
    ///
    /// # Errors
    /// The supervisor died first.
    pub fn wait(&self) -> Result<RunResult, Error> {
        loop {
            if let Some(result) = self.connection.wait(self.id, None)? {
                return Ok(self.names.add_to(result));
            }
        }
    }

    /// Waits for the result, but not longer than `timeout`; `None`: it is not there yet.
    ///
    /// # Errors
    /// The supervisor died first.
    pub fn wait_timeout(&self, timeout: Duration) -> Result<Option<RunResult>, Error> {
        let result = self.connection.wait(self.id, Some(timeout))?;
        Ok(result.map(|result| self.names.add_to(result)))
    }

    /// The result, if it is there. Does not wait.
    ///
    /// # Errors
    /// The supervisor died first.
    pub fn try_wait(&self) -> Result<Option<RunResult>, Error> {
        let result = self.connection.result(self.id).transpose()?;
        Ok(result.map(|result| self.names.add_to(result)))
    }

    /// Returns a future of the result, for any asynchronous runtime: a thread of this crate wakes the
    /// task. Dropping the future leaves the run alone; dropping the handle cancels it.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), millibox::Error> {
    /// use millibox::{Outcome, Request, Supervisor};
    ///
    /// let supervisor = Supervisor::start()?;
    /// let handle = supervisor.run(&Request::new("/bin/true"))?;
    /// assert_eq!(handle.wait_async().await?.outcome, Outcome::Exited(0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The future's errors are those of [`Handle::wait`], and that no thread can be started to wait for
    /// the supervisor.
    pub fn wait_async(&self) -> Wait<'_> {
        Wait { handle: self }
    }

    /// Ends the run, at whatever point it is. Its result says
    /// [`Outcome::Killed`](crate::Outcome::Killed), unless it was over already.
    pub fn kill(&self) {
        self.connection.kill(self.id, KillReason::Caller);
    }

    /// Ends the run because more output came than it may write. Its result says
    /// [`Outcome::OutputLimit`](crate::Outcome::OutputLimit), unless it was over already.
    pub fn kill_for_output(&self) {
        self.connection.kill(self.id, KillReason::OutputLimit);
    }

    /// Takes the run back, at whatever point it is: its processes go. Its result, if
    /// anybody asks, is [`Outcome::Cancelled`](crate::Outcome::Cancelled), unless it was
    /// over already. Again: nothing happens.
    pub fn cancel(&self) {
        self.connection.cancel(self.id);
    }

    /// A descriptor that becomes readable when the result is there (or the supervisor is
    /// dead): for poll(2) and the event loops built on it.
    ///
    /// # Errors
    /// No descriptor could be made, or no thread that reads from the supervisor while nobody waits: the run goes on, and
    /// can be waited for.
    pub fn event(&self) -> Result<BorrowedFd<'_>, Error> {
        match self.event.get() {
            Some(event) => Ok(event.as_fd()),
            None => {
                let event = self.connection.event(self.id)?;
                Ok(self.event.get_or_init(|| event).as_fd())
            }
        }
    }
}

/// The future of [`Handle::wait_async`].
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct Wait<'a> {
    handle: &'a Handle,
}

impl Future for Wait<'_> {
    type Output = Result<RunResult, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Handle {
            connection,
            id,
            names,
            ..
        } = self.handle;
        match connection.poll(*id, context.waker()) {
            Ok(Some(result)) => Poll::Ready(Ok(names.add_to(result))),
            Ok(None) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.connection.abandon(self.id);
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

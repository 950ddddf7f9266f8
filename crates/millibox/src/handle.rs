//! The handle of one run.

use crate::connection::Connection;
use crate::names::Names;
use crate::tracing::Tracing;
use crate::{Error, RunResult};
use millibox_explain::Explanation;
use millibox_wire::KillReason;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

/// The handle of a requested run, with which any thread can wait for, poll, kill or cancel the run.
///
/// Dropping the handle cancels the run. A handle may outlive its [`Supervisor`](crate::Supervisor):
/// results that arrived earlier remain available.
///
/// ```
/// use millibox::{Outcome, Request, Supervisor};
///
/// let Ok(supervisor) = Supervisor::start() else { return };
/// let run = supervisor.run(&Request::new("/bin/sleep").arg("60")).unwrap();
/// run.kill();
/// assert_eq!(run.wait().unwrap().outcome, Outcome::Killed);
/// ```
#[must_use = "a run whose handle is dropped is cancelled"]
pub struct Handle {
    connection: Arc<Connection>,
    id: u64,
    names: Names,
    event: OnceLock<Arc<OwnedFd>>,
    tracing: Option<Tracing>,
}

impl Handle {
    pub(crate) fn new(
        connection: Arc<Connection>,
        id: u64,
        names: Names,
        tracing: Option<Tracing>,
    ) -> Handle {
        Handle {
            connection,
            id,
            names,
            event: OnceLock::new(),
            tracing,
        }
    }

    /// What the program lacked, if [`Request::explain`](crate::Request::explain) asked for it.
    /// Waits for the end of the run. Returns `None` if the request did not ask for it, or if the
    /// program was not executed. Further calls return the same explanation.
    pub fn explanation(&self) -> Option<Explanation> {
        self.tracing.as_ref()?.explanation()
    }

    /// Waits for the result. Further calls return the same result.
    ///
    /// # Errors
    /// The supervisor ended before the run.
    pub fn wait(&self) -> Result<RunResult, Error> {
        loop {
            if let Some(result) = self.connection.wait(self.id, None)? {
                return Ok(self.names.add_to(result));
            }
        }
    }

    /// Waits for the result for at most `timeout`. Returns `None` after that time.
    ///
    /// # Errors
    /// The supervisor ended before the run.
    pub fn wait_timeout(&self, timeout: Duration) -> Result<Option<RunResult>, Error> {
        let result = self.connection.wait(self.id, Some(timeout))?;
        Ok(result.map(|result| self.names.add_to(result)))
    }

    /// Returns the result if it has arrived. Does not wait.
    ///
    /// # Errors
    /// The supervisor ended before the run.
    pub fn try_wait(&self) -> Result<Option<RunResult>, Error> {
        let result = self.connection.result(self.id).transpose()?;
        Ok(result.map(|result| self.names.add_to(result)))
    }

    /// Returns a future of the result. It works in any asynchronous runtime, because a thread of
    /// this crate wakes the task. Dropping the future does not affect the run, but dropping the
    /// handle cancels the run. A handle can also be awaited directly.
    ///
    /// ```
    /// # async fn example() -> Result<(), millibox::Error> {
    /// use millibox::{Outcome, Request, Supervisor};
    ///
    /// let supervisor = Supervisor::start()?;
    /// let handle = supervisor.run(&Request::new("/bin/true"))?;
    /// assert_eq!(handle.wait_async().await?.outcome, Outcome::Exited(0));
    /// assert_eq!(handle.await?.outcome, Outcome::Exited(0));
    /// # Ok(())
    /// # }
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # if millibox::Supervisor::start().is_ok() {
    /// #     runtime.block_on(example()).unwrap();
    /// # }
    /// ```
    ///
    /// # Errors
    /// The future returns the errors of [`Handle::wait`]. It also fails if no thread can be started
    /// to wait for the supervisor.
    pub fn wait_async(&self) -> Wait<'_> {
        Wait { handle: self }
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<Result<RunResult, Error>> {
        match self.connection.poll(self.id, context.waker()) {
            Ok(Some(result)) => Poll::Ready(Ok(self.names.add_to(result))),
            Ok(None) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Ends the run, or removes it from the queue. Its outcome is
    /// [`Outcome::Killed`](crate::Outcome::Killed), unless the run had already ended.
    pub fn kill(&self) {
        self.connection.kill(self.id, KillReason::Caller);
    }

    /// Ends the run because it wrote more output than allowed. Its outcome is
    /// [`Outcome::OutputLimit`](crate::Outcome::OutputLimit), unless the run had already ended.
    pub fn kill_for_output(&self) {
        self.connection.kill(self.id, KillReason::OutputLimit);
    }

    /// Cancels the run and kills its processes. Its outcome is
    /// [`Outcome::Cancelled`](crate::Outcome::Cancelled), unless the run had already ended. A
    /// second call has no effect.
    pub fn cancel(&self) {
        self.connection.cancel(self.id);
    }

    /// Returns a descriptor for poll(2) and event loops. It becomes readable when the result
    /// arrives or the supervisor ends.
    ///
    /// # Errors
    /// No descriptor can be created, or no thread can be started to read from the supervisor. The
    /// run still continues, and [`Handle::wait`] works.
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

/// The future of [`Handle::wait_async`]. Dropping it does not end the run.
///
/// ```
/// # async fn example(supervisor: &millibox::Supervisor) -> Result<(), millibox::Error> {
/// use millibox::{Outcome, Request};
///
/// let run = supervisor.run(&Request::new("/bin/true"))?;
/// let result = run.wait_async().await?;
/// assert_eq!(result.outcome, Outcome::Exited(0));
/// # Ok(())
/// # }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # if let Ok(supervisor) = millibox::Supervisor::start() {
/// #     runtime.block_on(example(&supervisor)).unwrap();
/// # }
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct Wait<'a> {
    handle: &'a Handle,
}

impl Future for Wait<'_> {
    type Output = Result<RunResult, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.handle.poll(context)
    }
}

impl<'a> IntoFuture for &'a Handle {
    type Output = Result<RunResult, Error>;
    type IntoFuture = Wait<'a>;

    fn into_future(self) -> Wait<'a> {
        self.wait_async()
    }
}

/// The future of a [`Handle`] that is awaited by value. Dropping it cancels the run.
///
/// ```
/// # async fn example(supervisor: &millibox::Supervisor) -> Result<(), millibox::Error> {
/// use millibox::{Outcome, Request};
///
/// let result = supervisor.run(&Request::new("/bin/true"))?.await?;
/// assert_eq!(result.outcome, Outcome::Exited(0));
/// # Ok(())
/// # }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # if let Ok(supervisor) = millibox::Supervisor::start() {
/// #     runtime.block_on(example(&supervisor)).unwrap();
/// # }
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct WaitOwned {
    handle: Handle,
}

impl Future for WaitOwned {
    type Output = Result<RunResult, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.handle.poll(context)
    }
}

impl IntoFuture for Handle {
    type Output = Result<RunResult, Error>;
    type IntoFuture = WaitOwned;

    fn into_future(self) -> WaitOwned {
        WaitOwned { handle: self }
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

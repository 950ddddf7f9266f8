//! Programs without a sandbox, and single runs in the sandbox.

use crate::{Error, interrupt};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Runs a program without arguments or environment with posix_spawn(3), and waits for it.
///
/// # Errors
/// The program cannot be run, or it fails.
pub fn spawn(program: &str) -> Result<(), Error> {
    // std uses posix_spawn(3) unless other attributes are set.
    success(Command::new(program).env_clear().stdin(Stdio::inherit()))
}

/// Runs a command and waits for it.
///
/// # Errors
/// The command cannot be run, or it fails.
pub fn success(command: &mut Command) -> Result<(), Error> {
    interrupt::check()?;
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .map_err(Error::system(format!("run {name}")))?;
    if status.success() {
        Ok(())
    } else {
        Err(Error::other(format!("{name}: {status}")))
    }
}

/// The time that another sandbox's command may take. The slowest sandbox takes 40 ms.
const PEER_TIMEOUT: Duration = Duration::from_secs(10);

/// Like [`success`], but for another sandbox's command, which may hang and is killed after ten
/// seconds.
///
/// # Errors
/// The errors of [`success`], and [`Error::Timeout`].
pub fn success_with_timeout(command: &mut Command) -> Result<(), Error> {
    interrupt::check()?;
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .spawn()
        .map_err(Error::system(format!("run {name}")))?;
    let exited = exits_within(&child, PEER_TIMEOUT);
    if !exited.as_ref().is_ok_and(|exited| *exited) {
        let _ = child.kill();
    }
    let status = child
        .wait()
        .map_err(Error::system(format!("wait for {name}")))?;
    if !exited.map_err(Error::system(format!("wait for {name}")))? {
        return Err(Error::Timeout {
            name,
            seconds: PEER_TIMEOUT.as_secs(),
        });
    }
    if status.success() {
        Ok(())
    } else {
        Err(Error::other(format!("{name}: {status}")))
    }
}

/// Waits until a child has ended, for at most `timeout`. Returns whether it has ended.
pub(crate) fn exits_within(child: &Child, timeout: Duration) -> Result<bool, Errno> {
    let pid = Pid::from_child(child);
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    let deadline = Instant::now() + timeout;
    loop {
        let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now()))
            .map_err(|_| Errno::INVAL)?;
        match poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&left)) {
            Err(Errno::INTR) => {}
            answer => return answer.map(|ready| ready > 0),
        }
    }
}

/// Runs a request in the sandbox and returns its result.
///
/// # Errors
/// The program does not exit with 0.
pub fn sandboxed(
    supervisor: &millibox::Supervisor,
    request: &millibox::Request,
) -> Result<millibox::RunResult, Error> {
    interrupt::check()?;
    let result = supervisor.run(request)?.wait()?;
    if result.outcome == millibox::Outcome::Exited(0) {
        Ok(result)
    } else {
        Err(Error::other(format!("in the sandbox: {result}")))
    }
}

/// The user and system CPU time of all reaped children, in nanoseconds (getrusage(2)).
pub fn children_cpu_ns() -> u64 {
    crate::sys::children_cpu_ns()
}

//! The same programs without a sandbox.

use crate::{Error, interrupt};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// posix_spawn(3) and wait of a program without arguments, with an empty environment; it must succeed.
///
/// # Errors
/// It cannot be run, or fails.
pub fn spawn(program: &str) -> Result<(), Error> {
    // With nothing but these set, std uses posix_spawn(3).
    success(Command::new(program).env_clear().stdin(Stdio::inherit()))
}

/// Runs a command, which must succeed.
///
/// # Errors
/// It cannot be run, or fails; what it said on standard error is not shown unless it is caught by the command.
pub fn success(command: &mut Command) -> Result<(), Error> {
    interrupt::check()?;
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(Error::system(format!("run {name}")))?;
    if status.success() { Ok(()) } else { Err(Error::says(format!("{name}: {status}"))) }
}

/// How long another's command may take. The slowest take 40 ms.
const PATIENCE: Duration = Duration::from_secs(10);

/// The same for another's command, which may hang: after ten seconds it is killed, which is an error.
///
/// # Errors
/// Those of [`success`], and no end in time.
pub fn success_in_time(command: &mut Command) -> Result<(), Error> {
    interrupt::check()?;
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().map_err(Error::system(format!("run {name}")))?;
    let ended = ends_within(&child, PATIENCE);
    if !ended.as_ref().is_ok_and(|ended| *ended) {
        let _ = child.kill();
    }
    let status = child.wait().map_err(Error::system(format!("wait for {name}")))?;
    if !ended.map_err(Error::system(format!("wait for {name}")))? {
        return Err(Error::NoEnd { name, seconds: PATIENCE.as_secs() });
    }
    if status.success() { Ok(()) } else { Err(Error::says(format!("{name}: {status}"))) }
}

fn ends_within(child: &Child, patience: Duration) -> Result<bool, Errno> {
    let pid = Pid::from_child(child);
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    let deadline = Instant::now() + patience;
    loop {
        let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).map_err(|_| Errno::INVAL)?;
        match poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&left)) {
            Err(Errno::INTR) => {}
            answer => return answer.map(|ready| ready > 0),
        }
    }
}

/// A run in the sandbox, which must exit with 0; its result.
///
/// # Errors
/// It ends in any other way.
pub fn sandboxed(supervisor: &millibox::Supervisor, request: &millibox::Request) -> Result<millibox::RunResult, Error> {
    interrupt::check()?;
    let result = supervisor.run(request)?.wait()?;
    if result.outcome == millibox::Outcome::Exited(0) {
        Ok(result)
    } else {
        Err(Error::says(format!("in the sandbox: {result}")))
    }
}

/// User and system CPU time of all children that were waited for, in nanoseconds (getrusage(2)).
pub fn children_cpu_ns() -> u64 {
    crate::sys::children_cpu_ns()
}

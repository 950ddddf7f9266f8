//! The child process: the supervisor, or its keeper.

use crate::{EndReason, Error, ProcessEnd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, pidfd_open, pidfd_send_signal,
    waitid,
};
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The time that the child may take to end. The keeper removes the cgroups first.
const END_TIMEOUT: Duration = Duration::from_secs(6);
/// The number of bytes to read from a pipe with one system call.
const CHUNK_BYTES: usize = 4096;
/// The number of bytes of the child's message that are kept.
const MAX_MESSAGE_BYTES: usize = 64 << 10;

/// The child process, or the child of another process.
#[derive(Debug)]
pub struct Process {
    pidfd: OwnedFd,
    stderr: Option<OwnedFd>,
    /// `None` if another process started it, waits for it and removes the cgroups.
    executable: Option<PathBuf>,
    /// The top-level directories of the supervisor's cgroups.
    pub cgroups: Vec<String>,
}

impl Process {
    /// Watches a child that was started.
    pub fn watch(mut child: Child, executable: PathBuf) -> Result<Process, Error> {
        let stderr = child.stderr.take().map(OwnedFd::from);
        // The process id is valid only until the child is reaped. The caller may reap it, by
        // ignoring SIGCHLD or with a handler that waits for all children. A pidfd stays valid.
        match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Process {
                pidfd,
                stderr,
                executable: Some(executable),
                cgroups: Vec::new(),
            }),
            Err(errno) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(Error::system("watch the supervisor")(errno))
            }
        }
    }

    /// Watches a process that another process started.
    pub fn of_other(pidfd: OwnedFd, stderr: OwnedFd) -> Process {
        Process {
            pidfd,
            stderr: Some(stderr),
            executable: None,
            cgroups: Vec::new(),
        }
    }

    /// Returns the read end of standard error on the first call.
    pub fn take_stderr(&mut self) -> Option<OwnedFd> {
        self.stderr.take()
    }

    pub fn locked(process: &Mutex<Process>) -> MutexGuard<'_, Process> {
        process
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits for the child, whose socket is closed, and returns the reason why it ended.
    pub fn end_reason(&mut self) -> EndReason {
        let stderr = self.stderr.take();
        let text = stderr.map(|stderr| read_text(stderr, END_TIMEOUT, MAX_MESSAGE_BYTES));
        let text = text.unwrap_or_default();
        let end = self.wait_for_end().map(|status| {
            match (status.terminating_signal(), status.exit_status()) {
                (Some(signal), _) => ProcessEnd::Killed(signal),
                // This is the keeper's exit status if a signal killed the supervisor.
                (None, Some(code)) if code > 128 => ProcessEnd::Killed(code - 128),
                (None, code) => ProcessEnd::Exited(code.unwrap_or_default()),
            }
        });
        match end {
            Some(ProcessEnd::Killed(signal)) => EndReason::Process(ProcessEnd::Killed(signal)),
            _ if !text.is_empty() => EndReason::Message(text),
            Some(end) => EndReason::Process(end),
            None => EndReason::Closed,
        }
    }

    /// Whether the child has ended.
    pub fn has_ended(&self) -> bool {
        self.ends_within(Some(Duration::ZERO))
    }

    /// Kills the child. Another thread or a handler of the program may have reaped it already.
    pub fn kill(&self) {
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
    }

    /// Waits for the child for at most this time. Returns whether the child has ended.
    fn ends_within(&self, time: Option<Duration>) -> bool {
        let deadline = time.map(|time| Instant::now() + time);
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let timeout = left.map(|left| Timespec::try_from(left).unwrap_or_default());
            match poll(
                &mut [PollFd::new(&self.pidfd, PollFlags::IN)],
                timeout.as_ref(),
            ) {
                Ok(0) => return false,
                Err(Errno::INTR) => {}
                _ => return true,
            }
        }
    }

    /// Waits for the child, and kills it after `END_TIMEOUT`. Removes the cgroups that it left.
    /// For the child of another process, this only waits.
    pub fn wait_for_end(&mut self) -> Option<WaitIdStatus> {
        let Some(executable) = &self.executable else {
            self.ends_within(Some(END_TIMEOUT));
            return None;
        };
        if !self.ends_within(Some(END_TIMEOUT)) {
            self.kill();
            self.ends_within(None);
        }
        // The status is `None` if other code of this process has already waited for the child.
        let status = waitid(WaitId::PidFd(self.pidfd.as_fd()), WaitIdOptions::EXITED)
            .ok()
            .flatten();
        let cgroups = std::mem::take(&mut self.cgroups);
        let left: Vec<String> = cgroups
            .into_iter()
            .filter(|path| Path::new(path).exists())
            .collect();
        if !left.is_empty() {
            // The keeper was killed.
            let arguments = left.iter().map(|path| format!("--sweep={path}"));
            let _ = Command::new(executable)
                .args(arguments)
                .stderr(Stdio::null())
                .status();
        }
        status
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

/// Reads text that a child writes to a pipe: to the end of the pipe, or until the timeout or the
/// limit.
pub fn read_text(pipe: OwnedFd, timeout: Duration, max_bytes: usize) -> String {
    let mut file = std::fs::File::from(pipe);
    let deadline = Instant::now() + timeout;
    let mut bytes = Vec::new();
    while bytes.len() < max_bytes {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).unwrap_or_default();
        match poll(&mut [PollFd::new(&file, PollFlags::IN)], Some(&timeout)) {
            Ok(1) => {}
            Err(Errno::INTR) => continue,
            _ => break,
        }
        let mut chunk = [0; CHUNK_BYTES];
        match file.read(&mut chunk) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => break,
            Ok(read) => bytes.extend_from_slice(&chunk[..read]),
        }
    }
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

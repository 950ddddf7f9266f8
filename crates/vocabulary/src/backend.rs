//! The resource backends, and the reasons why a backend cannot be used.

use crate::ProcessEnd;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The way in which runs are limited and measured.
///
/// ```
/// use millibox_vocabulary::Backend;
/// assert_eq!(Backend::Cgroup2.to_string(), "cgroup2");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Backend {
    /// Delegated unified cgroups (cgroups(7), version 2).
    Cgroup2,
    /// Version 1 hierarchies of memory, pids, cpu and cpuacct, created by root.
    Hybrid,
    /// No cgroups. The limits are resource limits of single processes, which are weaker.
    Rlimit,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Cgroup2 => "cgroup2",
            Backend::Hybrid => "hybrid",
            Backend::Rlimit => "rlimit",
        })
    }
}

/// The reasons why one backend cannot be used.
///
/// ```
/// use millibox_vocabulary::{Backend, BackendCause, BackendRefusal, BackendStep};
/// let cause = BackendCause::new(BackendStep::Open).with_subject("/x/pids.max").with_errno(13);
/// let refusal = BackendRefusal::new(Backend::Cgroup2, vec![cause]);
/// assert_eq!(
///     refusal.to_string(),
///     "cgroup2: cannot open /x/pids.max: Permission denied (os error 13)"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BackendRefusal {
    /// The backend.
    pub backend: Backend,
    /// The causes, in order. For [`Backend::Cgroup2`] the list contains one cause for each place
    /// that was tried.
    pub causes: Vec<BackendCause>,
}

impl BackendRefusal {
    /// Creates the refusal of a backend for these causes.
    pub fn new(backend: Backend, causes: Vec<BackendCause>) -> BackendRefusal {
        BackendRefusal { backend, causes }
    }
}

impl fmt::Display for BackendRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.backend)?;
        write_list(f, &self.causes)
    }
}

/// Writes values with a semicolon between them.
pub(crate) fn write_list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, list: &[T]) -> fmt::Result {
    for (index, value) in list.iter().enumerate() {
        let separator = if index > 0 { "; " } else { "" };
        write!(f, "{separator}{value}")?;
    }
    Ok(())
}

/// The step of a backend that failed, and the known facts about the cause.
///
/// ```
/// use millibox_vocabulary::{BackendCause, BackendStep};
/// let cause = BackendCause::new(BackendStep::FindController).with_subject("memory");
/// assert_eq!(cause.to_string(), "the memory controller is not on a version 1 hierarchy");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BackendCause {
    /// The step that failed.
    pub step: BackendStep,
    /// The object of the step: a file, a cgroup or a controller.
    pub subject: Option<String>,
    /// The kernel's error number (errno(3)), if a system call failed.
    pub errno: Option<i32>,
}

impl BackendCause {
    /// Creates a cause with this step and no other facts.
    pub fn new(step: BackendStep) -> BackendCause {
        BackendCause {
            step,
            subject: None,
            errno: None,
        }
    }

    /// Names the object.
    #[must_use]
    pub fn with_subject(mut self, subject: impl Into<String>) -> BackendCause {
        self.subject = Some(subject.into());
        self
    }

    /// Adds the error number.
    #[must_use]
    pub fn with_errno(mut self, errno: i32) -> BackendCause {
        self.errno = Some(errno);
        self
    }

    /// Adds the error number of an I/O error, if the error has one.
    #[must_use]
    pub fn with_io(mut self, error: &std::io::Error) -> BackendCause {
        self.errno = error.raw_os_error();
        self
    }
}

/// A step in the preparation of a backend that can fail.
///
/// ```
/// use millibox_vocabulary::{BackendCause, BackendStep};
/// let is_missing = |cause: &BackendCause| cause.step == BackendStep::FindHierarchy;
/// assert!(is_missing(&BackendCause::new(BackendStep::FindHierarchy)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum BackendStep {
    /// The hierarchy of version 2 cgroups is looked up.
    FindHierarchy,
    /// The version 1 hierarchy with the controller is looked up. The controller is the subject.
    FindController,
    /// The supervisor's own cgroup is looked up below the mount point of the hierarchy.
    FindOwnCgroup,
    /// The cgroup named by the error's subject lacks these required controllers.
    Controllers(Vec<String>),
    /// Version 1 cgroups must be created, and only root may do that.
    BecomeRoot,
    /// The cgroup must not belong to systemd.
    LeaveSystemd,
    /// The unit of the cgroup must be delegated by systemd.
    CheckDelegation,
    /// A delegated cgroup is looked up, but none of the candidates can be used.
    FindDelegated,
    /// The running systemd manager, which could delegate a cgroup, is looked up.
    FindManager,
    /// The path of the supervisor's own executable is determined.
    FindExecutable,
    /// systemd-run is executed.
    ExecuteSystemdRun,
    /// systemd-run creates a scope.
    CreateScope {
        /// How systemd-run ended.
        end: ProcessEnd,
        /// The text that systemd-run wrote to standard error.
        message: String,
    },
    /// The client's socket is passed to the supervisor in its scope.
    PassSocket,
    /// The cgroup must be writable.
    CheckWritable,
    /// A cgroup is created.
    CreateCgroup,
    /// A cgroup is created and locked. Another process removed it each time.
    KeepCgroup,
    /// These controllers are enabled for the children of the cgroup.
    EnableControllers(Vec<String>),
    /// The supervisor's user becomes the owner of a cgroup file.
    HandOver,
    /// A file is opened.
    Open,
    /// The swap areas of the machine are read.
    ReadSwaps,
    /// The memory limit must cover swap, which is in use, but the file that limits swap is missing.
    LimitSwap,
    /// A socket between keeper and runner is created.
    CreateSocket,
    /// An eventfd is created.
    CreateEventfd,
    /// The keeper asks to be notified when the cgroup is out of memory.
    WatchMemory,
}

impl fmt::Display for BackendCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = self.subject.as_deref().unwrap_or("it");
        match &self.step {
            BackendStep::FindHierarchy => f.write_str("no unified hierarchy is mounted"),
            BackendStep::FindController => {
                write!(
                    f,
                    "the {subject} controller is not on a version 1 hierarchy"
                )
            }
            BackendStep::FindOwnCgroup => {
                f.write_str("the supervisor's cgroup is outside the mounted part of the hierarchy")
            }
            BackendStep::Controllers(missing) => {
                write!(f, "{subject} has no {} controller", missing.join(", "))
            }
            BackendStep::BecomeRoot => f.write_str(
                "only root can create version 1 cgroups; start the client as root, and the \
                 supervisor drops to an unprivileged user",
            ),
            BackendStep::LeaveSystemd => write!(f, "{subject} belongs to systemd"),
            BackendStep::CheckDelegation => {
                write!(
                    f,
                    "{subject} belongs to systemd: the unit has no Delegate=yes"
                )
            }
            BackendStep::FindDelegated => f.write_str(
                "no delegated cgroup is left to try; run under `systemd-run --user --scope -p \
                 Delegate=yes`, or name a delegated cgroup with --cgroup-parent",
            ),
            BackendStep::FindManager => {
                f.write_str("no systemd manager responds that could delegate a cgroup")
            }
            BackendStep::FindExecutable => {
                f.write_str("cannot find the path of the supervisor's own executable")
            }
            BackendStep::ExecuteSystemdRun => f.write_str("cannot execute systemd-run"),
            BackendStep::CreateScope { end, message } => {
                write!(f, "systemd-run cannot create a scope: it {end}: {message}")
            }
            BackendStep::PassSocket => f.write_str("cannot pass on the client's socket"),
            BackendStep::CheckWritable => write!(f, "{subject} is not writable"),
            BackendStep::CreateCgroup => write!(f, "cannot create the cgroup {subject}"),
            BackendStep::KeepCgroup => write!(
                f,
                "cannot create the cgroup {subject}: another process removes it repeatedly"
            ),
            BackendStep::EnableControllers(names) => {
                write!(f, "cannot enable {} below {subject}", names.join(", "))
            }
            BackendStep::HandOver => write!(f, "cannot hand over {subject}"),
            BackendStep::Open => write!(f, "cannot open {subject}"),
            BackendStep::ReadSwaps => write!(
                f,
                "cannot determine whether swap exists: cannot read {subject}"
            ),
            BackendStep::LimitSwap => write!(
                f,
                "swap is in use, but {subject} does not exist, so a memory limit would not cover \
                 swap; boot with swapaccount=1, or disable swap"
            ),
            BackendStep::CreateSocket => f.write_str("cannot create a socket"),
            BackendStep::CreateEventfd => f.write_str("cannot create an eventfd"),
            BackendStep::WatchMemory => {
                write!(f, "cannot watch whether {subject} is out of memory")
            }
        }?;
        if let Some(errno) = self.errno {
            // The text is "Permission denied (os error 13)", because users search for both parts.
            write!(f, ": {}", std::io::Error::from_raw_os_error(errno))?;
        }
        match (&self.step, self.errno) {
            (BackendStep::EnableControllers(_), Some(libc::EBUSY)) => f.write_str(
                "; it has processes of its own, and only leaves may have processes (cgroups(7))",
            ),
            _ => Ok(()),
        }
    }
}

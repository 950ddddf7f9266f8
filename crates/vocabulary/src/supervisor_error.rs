//! The reasons why the supervisor could not start or had to end.

use crate::backend::write_list;
use crate::{BackendCause, BackendRefusal, ProcessEnd, RunError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The step of the supervisor that failed, and the known facts about the cause.
///
/// The supervisor sends the error to the client before it exits, whether it could not start or had
/// to end later. [`Display`](fmt::Display) renders one sentence.
///
/// ```
/// use millibox_vocabulary::{SupervisorError, SupervisorStep};
/// let error = SupervisorError::new(SupervisorStep::Open).with_subject("/proc").with_errno(13);
/// assert_eq!(error.to_string(), "cannot open /proc: Permission denied (os error 13)");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SupervisorError {
    /// The step that failed.
    pub step: SupervisorStep,
    /// The object of the step, for example a path.
    pub subject: Option<String>,
    /// The kernel's error number (errno(3)), if a system call failed.
    pub errno: Option<i32>,
    /// Additional information about the failure, apart from the step and the errno.
    pub hint: Option<SupervisorHint>,
}

impl SupervisorError {
    /// Creates an error with this step and no other facts.
    pub fn new(step: SupervisorStep) -> SupervisorError {
        SupervisorError {
            step,
            subject: None,
            errno: None,
            hint: None,
        }
    }

    /// Names the object.
    #[must_use]
    pub fn with_subject(mut self, subject: impl Into<String>) -> SupervisorError {
        self.subject = Some(subject.into());
        self
    }

    /// Adds the error number.
    #[must_use]
    pub fn with_errno(mut self, errno: i32) -> SupervisorError {
        self.errno = Some(errno);
        self
    }

    /// Adds a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: SupervisorHint) -> SupervisorError {
        self.hint = Some(hint);
        self
    }

    /// Adds the error number of an I/O error, if the error has one.
    #[must_use]
    pub fn with_io(mut self, error: &std::io::Error) -> SupervisorError {
        self.errno = error.raw_os_error();
        self
    }
}

impl fmt::Display for SupervisorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (SupervisorStep::Arguments, Some(hint)) = (self.step, &self.hint) {
            return hint.fmt(f);
        }
        write!(f, "cannot {}", self.step.action())?;
        if let Some(subject) = &self.subject {
            write!(f, " {subject}")?;
        }
        if let Some(errno) = self.errno {
            // The text is "No such file or directory (os error 2)", because users search for both
            // parts.
            write!(f, ": {}", std::io::Error::from_raw_os_error(errno))?;
        }
        match (&self.hint, self.errno) {
            (Some(hint), Some(_)) => write!(f, "; {hint}")?,
            (Some(hint), None) => write!(f, ": {hint}")?,
            (None, _) => {}
        }
        let shortage = || self.hint.as_ref().and_then(SupervisorHint::shortage);
        match remedy(self.step, self.errno.or_else(shortage)) {
            "" => Ok(()),
            remedy => write!(f, "; {remedy}"),
        }
    }
}

impl std::error::Error for SupervisorError {}

/// The remedy for this error number in this step; empty if no remedy is known.
fn remedy(step: SupervisorStep, errno: Option<i32>) -> &'static str {
    use SupervisorStep::{
        GidMap, HostName, Namespaces, Setgroups, StartRunner, TimeNamespace, TimeOffsets, UidMap,
    };
    match (step, errno) {
        // On Ubuntu, AppArmor allows user namespaces to be created and then denies the calls that
        // need them.
        (
            Setgroups | UidMap | GidMap | HostName | TimeOffsets | TimeNamespace,
            Some(libc::EPERM | libc::EACCES),
        )
        | (Namespaces, _) => "user namespaces seem to be forbidden here; see `millibox doctor`",
        (_, Some(libc::EMFILE)) => crate::run_error::MORE_FILES,
        (_, Some(libc::EAGAIN)) => crate::run_error::MORE_PROCESSES,
        (StartRunner, Some(libc::ETOOMANYREFS)) => {
            "this user has more descriptors in transit through sockets than the supervisor may \
             have open (unix(7)); end the programs that do not receive them, or raise the hard \
             limit (ulimit -Hn)"
        }
        _ => "",
    }
}

/// Declares [`SupervisorStep`]. The string of each step completes a sentence that begins with
/// "cannot ".
macro_rules! steps {
    ($($(#[$doc:meta])* $variant:ident, $action:literal;)*) => {
        /// A step of the supervisor, or of its keeper, that can fail.
        ///
        /// ```
        /// use millibox_vocabulary::{SupervisorError, SupervisorStep};
        /// let error = SupervisorError::new(SupervisorStep::Cpus);
        /// assert_eq!(error.to_string(), "cannot use the requested CPUs");
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum SupervisorStep {
            $($(#[$doc])* $variant,)*
        }

        impl SupervisorStep {
            /// All steps.
            pub const ALL: &'static [SupervisorStep] = &[$(SupervisorStep::$variant),*];

            /// The words that follow "cannot ". The name of the subject may come after them.
            fn action(self) -> &'static str {
                match self {
                    $(SupervisorStep::$variant => $action,)*
                }
            }
        }
    };
}

steps! {
    /// The command line is read.
    Arguments, "read the command line";
    /// The socket of the client is checked.
    Socket, "use the client's socket";
    /// The process of the client is determined.
    ClientProcess, "determine the process of the client";
    /// The client's process is watched.
    WatchClient, "watch the client";
    /// Descriptors that the client left open are closed.
    CloseInherited, "close the descriptors that the client left open";
    /// The requested user is checked.
    User, "switch to the user";
    /// The resource limits of the supervisor are raised.
    Limits, "share memory with the runners";
    /// A file is opened.
    Open, "open";
    /// A file is read.
    Read, "read";
    /// The requested backend prepares cgroups.
    Backend, "use the backend";
    /// Cgroups are created below the requested parent.
    CgroupParent, "create cgroups below";
    /// The keeper forks the supervisor.
    Fork, "fork the supervisor";
    /// The supervisor enters its cgroup.
    EnterCgroup, "enter the supervisor's cgroup";
    /// The keeper watches the supervisor.
    WatchSupervisor, "watch the supervisor";
    /// The keeper reads its capabilities.
    ReadCapabilities, "read the keeper's capabilities";
    /// A memfd is created for the settings that the supervisor inherits.
    Inheritance, "pass the settings on to the supervisor";
    /// The supervisor is executed as an unprivileged user.
    Execute, "execute the supervisor as an unprivileged user";
    /// The process becomes an unprivileged user.
    Unprivileged, "switch to an unprivileged user";
    /// The supervisor reads the settings that it inherits.
    ReadInheritance, "read the inherited settings from descriptor";
    /// The supervisor arranges to die with the keeper.
    ParentDeath, "end together with the keeper";
    /// The null device is checked.
    NullDevice, "check the owner of /dev/null";
    /// The supervisor makes its descriptors close-on-exec.
    CloseOnExec, "make descriptors close-on-exec";
    /// The standard streams are connected to the null device.
    StandardStreams, "connect the standard streams to /dev/null";
    /// no_new_privs is set (prctl(2)).
    NoNewPrivs, "set no_new_privs";
    /// The supervisor sets its name.
    ProcessName, "set the name of the supervisor";
    /// Signal dispositions are reset.
    Signals, "reset the signal dispositions";
    /// The CPUs are chosen.
    Cpus, "use the requested CPUs";
    /// The supervisor leaves the caller's session keyring.
    SessionKeyring, "leave the caller's session keyring";
    /// The rights to the new session keyring are removed.
    KeyringRights, "remove all rights to the session keyring";
    /// The supervisor changes its working directory.
    WorkingDirectory, "change to the root directory";
    /// The supervisor becomes a subreaper.
    Subreaper, "become a subreaper";
    /// The supervisor's namespaces are created.
    Namespaces, "create namespaces";
    /// setgroups(2) is denied in the user namespace.
    Setgroups, "deny setgroups";
    /// The user id is mapped.
    UidMap, "map the user id (is it mapped outside, and is the executable readable by all users?)";
    /// The group id is mapped.
    GidMap, "map the group id";
    /// Host and domain name are cleared.
    HostName, "clear host and domain name";
    /// The clocks of the time namespace are set.
    TimeOffsets, "set the offsets of the time namespace";
    /// The time namespace is entered.
    TimeNamespace, "enter the time namespace";
    /// The securebits are set.
    Securebits, "set the securebits";
    /// The supervisor becomes undumpable.
    Undumpable, "make the supervisor undumpable";
    /// The spawner is started.
    Spawner, "start the spawner";
    /// The spawner ended.
    SpawnerEnd, "keep the spawner alive";
    /// The capability bounding set is reduced.
    BoundingSet, "reduce the capability bounding set";
    /// Capabilities are dropped.
    Capabilities, "drop capabilities";
    /// landlock(7) restricts the process.
    Landlock, "restrict file access with landlock";
    /// The process attaches its own seccomp program.
    // prose: allow
    Seccomp, "attach the process's own seccomp program (is the kernel built with CONFIG_SECCOMP_FILTER?)";
    /// An eventfd is created.
    Eventfd, "create an eventfd";
    /// The thread that counts file locks is started and must answer.
    LocksThread, "start the thread that counts file locks";
    /// An epoll instance is created.
    Epoll, "create an epoll instance";
    /// A descriptor is watched.
    Watch, "watch a descriptor";
    /// The supervisor waits for events.
    WaitForEvents, "wait for events";
    /// A frame of the client is received.
    ReadClient, "read from the client";
    /// A frame is sent to the client.
    AnswerClient, "send to the client";
    /// The memory to share with a runner is allocated.
    RunnerMemory, "create memory to share with a runner";
    /// A runner is started.
    StartRunner, "start a runner";
    /// A runner prepares itself.
    RunnerSetup, "set up a runner";
    /// A message of a runner is received.
    ReadRunner, "read from a runner";
}

/// Additional information about a failure, apart from the step and the errno.
///
/// ```
/// use millibox_vocabulary::{SupervisorError, SupervisorHint, SupervisorStep};
/// let error = SupervisorError::new(SupervisorStep::ParentDeath)
///     .with_hint(SupervisorHint::KeeperDied);
/// assert!(error.to_string().ends_with("the keeper has died"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum SupervisorHint {
    /// The problem with the command line.
    Argument(String),
    /// The descriptor is not open.
    NotOpen,
    /// The descriptor is not a socket.
    NotSocket,
    /// The socket belongs to this address family.
    SocketFamily(u16),
    /// The socket does not preserve message boundaries.
    SocketType,
    /// The requested user or group id is 0.
    UserIsSuperuser,
    /// Only root may switch to another user, but this user started the supervisor.
    UserNeedsRoot {
        /// The user id.
        uid: u32,
        /// The group id.
        gid: u32,
    },
    /// The hard limit on the size of files is too low.
    FileSizeLimit {
        /// The limit in bytes.
        limit: u64,
        /// The number of bytes that are needed.
        needed: u64,
    },
    /// The reasons why the backends could not be used.
    Declined(Vec<BackendRefusal>),
    /// The reasons why the requested backend, which is the subject, cannot be used.
    Refused(Vec<BackendCause>),
    /// The supervisor would run as the superuser.
    Superuser,
    /// Privileges could be regained after dropping them.
    PrivilegesRegained,
    /// /dev/null is not the null device.
    NotNullDevice,
    /// The keeper has died.
    KeeperDied,
    /// The keeper sent data that cannot be decoded.
    Malformed(String),
    /// This CPU does not exist or may not be used.
    CpuMissing {
        /// The requested CPU.
        cpu: usize,
        /// The CPUs that may be used.
        available: Vec<usize>,
    },
    /// A process of the sandbox ended.
    Ended(ProcessEnd),
    /// A thread of the supervisor ended.
    ThreadEnded,
    /// The error of a runner.
    Run(Box<RunError>),
}

impl SupervisorHint {
    /// The error number of a backend that failed because it lacked open files or processes.
    fn shortage(&self) -> Option<i32> {
        let is_shortage = |errno: &i32| matches!(*errno, libc::EMFILE | libc::EAGAIN);
        let of_cause = |cause: &BackendCause| cause.errno.filter(is_shortage);
        match self {
            SupervisorHint::Refused(causes) => causes.iter().find_map(of_cause),
            SupervisorHint::Declined(refusals) => refusals
                .iter()
                .flat_map(|refusal| &refusal.causes)
                .find_map(of_cause),
            _ => None,
        }
    }
}

impl fmt::Display for SupervisorHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SupervisorHint::Argument(text) => f.write_str(text),
            SupervisorHint::NotOpen => f.write_str("the descriptor is not open"),
            SupervisorHint::NotSocket => f.write_str("the descriptor is not a socket"),
            SupervisorHint::SocketFamily(family) => write!(
                f,
                "the address family of the socket is {family}; it must be AF_UNIX"
            ),
            SupervisorHint::SocketType => {
                f.write_str("the type of the socket must be SOCK_SEQPACKET")
            }
            SupervisorHint::UserIsSuperuser => {
                f.write_str("it must not be the superuser or its group")
            }
            SupervisorHint::UserNeedsRoot { uid, gid } => write!(
                f,
                "only root can switch to another user, but this user is {uid}:{gid}; omit the user"
            ),
            SupervisorHint::FileSizeLimit { limit, needed } => write!(
                f,
                "the hard limit on the size of files is {limit} bytes, and {needed} are needed; \
                 raise it (ulimit -Hf)"
            ),
            SupervisorHint::Declined(refusals) => write_list(f, refusals),
            SupervisorHint::Refused(causes) => write_list(f, causes),
            SupervisorHint::Superuser => f.write_str(
                "the supervisor does not run as the superuser; start the client as root, so that \
                 the supervisor drops its privileges, or as an ordinary user",
            ),
            SupervisorHint::PrivilegesRegained => {
                f.write_str("privileges could be regained after they were dropped")
            }
            SupervisorHint::NotNullDevice => {
                f.write_str("/dev/null is not the null device (character device 1:3)")
            }
            SupervisorHint::KeeperDied => f.write_str("the keeper has died"),
            SupervisorHint::Malformed(error) => f.write_str(error),
            SupervisorHint::CpuMissing { cpu, available } => write!(
                f,
                "CPU {cpu} does not exist or may not be used; the available CPUs are {available:?}"
            ),
            SupervisorHint::Ended(end) => write!(f, "it {end}"),
            SupervisorHint::ThreadEnded => f.write_str("the thread has ended"),
            SupervisorHint::Run(error) => error.fmt(f),
        }
    }
}

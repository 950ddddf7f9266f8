//! The error of a run that could not be started or served.

use crate::step::Step;
use crate::world_error::HOST_FILE_SYSTEM;
use crate::{LimitError, ProcessEnd, TemplateProblem, WorldError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The step of a run that failed, and the known facts about the cause.
///
/// [`Display`](fmt::Display) renders it as one sentence, which contains the failed action, its
/// object, the cause and the remedy.
///
/// ```
/// use millibox_vocabulary::{RunError, Step};
/// let error = RunError::new(Step::Exec).with_errno(13).with_subject("/data");
/// assert!(error.to_string().starts_with("cannot execute /data: Permission denied (os error 13); "));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunError {
    /// The step that failed.
    pub step: Step,
    /// The kernel's error number (errno(3)), if a system call failed.
    pub errno: Option<i32>,
    /// The object of the step, for example a path or the name of a resource limit.
    pub subject: Option<String>,
    /// Additional information about the cause or the remedy.
    pub hint: Option<Hint>,
    /// The number of runners in which the run could not begin; 0 if the run began or was not
    /// retried.
    pub attempts: u32,
}

impl RunError {
    /// Creates an error of this step without additional information.
    pub fn new(step: Step) -> RunError {
        RunError {
            step,
            errno: None,
            subject: None,
            hint: None,
            attempts: 0,
        }
    }

    /// Adds the error number; 0 means no error number.
    #[must_use]
    pub fn with_errno(mut self, errno: i32) -> RunError {
        self.errno = (errno != 0).then_some(errno);
        self
    }

    /// Adds the object; an empty name means no object.
    #[must_use]
    pub fn with_subject(mut self, subject: impl Into<String>) -> RunError {
        self.subject = Some(subject.into()).filter(|subject| !subject.is_empty());
        self
    }

    /// Adds the number of attempts in which no part of the run has begun.
    #[must_use]
    pub fn after_attempts(mut self, attempts: u32) -> RunError {
        self.attempts = attempts;
        self
    }

    /// Renders the step, the object and the errno, without hint and remedy.
    pub fn cause(&self) -> Cause<'_> {
        Cause(self)
    }

    /// Adds a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: Hint) -> RunError {
        self.hint = Some(hint);
        self
    }
}

/// Renders a [`RunError`] without hint and remedy, for callers with a better remedy.
#[derive(Debug, Clone, Copy)]
pub struct Cause<'a>(&'a RunError);

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RunError {
            step,
            errno,
            subject,
            ..
        } = self.0;
        match subject {
            Some(subject) => write!(f, "cannot {} {subject}", step.action_on())?,
            None => write!(f, "cannot {}", step.action())?,
        }
        if let Some(errno) = errno {
            // The text is "No such file or directory (os error 2)", because users search for both
            // parts.
            write!(f, ": {}", std::io::Error::from_raw_os_error(*errno))?;
        }
        Ok(())
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause().fmt(f)?;
        let separator = if self.errno.is_some() { "; " } else { ": " };
        match (&self.hint, self.errno) {
            // "it" would refer to the mount namespace.
            (Some(Hint::Ended(end)), _) if self.step == Step::Template => {
                write!(f, "{separator}its mounter {end}")?;
            }
            (Some(hint), _) => write!(f, "{separator}{hint}")?,
            (None, Some(errno)) => match remedy(self.step, errno) {
                "" => {}
                remedy => write!(f, "{separator}{remedy}")?,
            },
            (None, None) => {}
        }
        match self.attempts {
            0 => Ok(()),
            attempts => write!(f, "; no part of the run has begun in {attempts} attempts"),
        }
    }
}

impl std::error::Error for RunError {}

/// Information about the cause of a [`RunError`] beyond its step and errno.
///
/// ```
/// use millibox_vocabulary::{Hint, RunError, Step};
/// let error = RunError::new(Step::Exec).with_errno(2).with_hint(Hint::InterpreterMissing);
/// assert!(matches!(error.hint, Some(Hint::InterpreterMissing)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Hint {
    /// The request's frame cannot be read.
    Frame(FrameProblem),
    /// Fewer or more descriptors arrived than the request announced.
    DescriptorCount {
        /// The number of descriptors that the request announced.
        announced: u32,
        /// The number of descriptors that arrived.
        received: u32,
    },
    /// Another run has the request's id.
    IdInUse,
    /// A limit has a value that no run can have.
    Limit(LimitError),
    /// The world is not valid.
    World(WorldError),
    /// Arguments, variables and paths are too many or too long.
    TooManyStrings {
        /// The number of arguments, variables and paths in the request.
        strings: u64,
        /// The maximum number that a run can have.
        max_strings: u64,
        /// The total length of the strings in bytes, including their NULs.
        bytes: u64,
        /// The maximum number of bytes that a run can have.
        max_bytes: u64,
    },
    /// A pair needs a slot with two runners.
    PairNeedsTwoRunners,
    /// The run's partner was not started.
    PartnerNotStarted,
    /// Without cgroups the supervisor must examine the processes to limit CPU time, but /proc hides
    /// them.
    ProcHidesProcesses,
    /// Without cgroups, swap cannot be limited.
    SwapNeedsCgroups,
    /// The program's file exists, but the interpreter or loader that it names does not.
    InterpreterMissing,
    /// A name without `/` was interpreted as a path.
    NameTakenAsPath,
    /// A helper process of the sandbox ended early.
    Ended(ProcessEnd),
    /// The runner's zygote ended.
    ZygoteLost,
    /// The process ended before it could receive the run.
    EndedUnready,
    /// No target received the run in time.
    NotReceived,
    /// A target received the run but did not execute the program in time.
    NotExecuted,
    /// The host, or a cgroup around the run, ran out of memory.
    HostOutOfMemory,
    /// pid1 reported no exit status.
    NoStatus,
    /// The template of the prepared program cannot be copied.
    Template(TemplateProblem),
    /// The supervisor cannot watch a socket.
    Unwatchable {
        /// The kernel's error number.
        errno: i32,
    },
}

/// The reason why the frame of a request cannot be read.
///
/// ```
/// use millibox_vocabulary::FrameProblem;
/// assert_eq!(FrameProblem::NotMemfd.to_string(), "the descriptor of its body is not a memfd");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum FrameProblem {
    /// The frame or its body is too long.
    TooLong {
        /// Its length in bytes.
        bytes: u64,
        /// The maximum number of bytes that are accepted.
        max_bytes: u64,
    },
    /// The memfd with the body did not arrive.
    MemfdMissing,
    /// The descriptor of the body is not a memfd.
    NotMemfd,
    /// The memfd is not sealed against writing and shrinking.
    MemfdNotSealed,
    /// The memfd contains fewer bytes than its size states.
    MemfdTruncated,
    /// The memfd cannot be read.
    MemfdUnreadable {
        /// The kernel's error number.
        errno: i32,
    },
    /// The bytes do not encode the expected type.
    Malformed(String),
    /// Only a supervisor may send this kind of frame.
    WrongDirection,
    /// The number of strings differs from the announced number.
    StringCount,
    /// The program is given by both path and descriptor, or by neither.
    ProgramCount,
    /// A CPU number is above the maximum.
    CpuNumber,
    /// No resource limit has this number.
    RlimitNumber(u8),
}

impl fmt::Display for FrameProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameProblem::TooLong { bytes, max_bytes } => {
                write!(
                    f,
                    "its message has {bytes} bytes, and at most {max_bytes} are accepted"
                )
            }
            FrameProblem::MemfdMissing => f.write_str("the memfd with its body is missing"),
            FrameProblem::NotMemfd => f.write_str("the descriptor of its body is not a memfd"),
            FrameProblem::MemfdNotSealed => {
                f.write_str("its memfd is not sealed against writing and shrinking")
            }
            FrameProblem::MemfdTruncated => f.write_str("its memfd ended early"),
            FrameProblem::MemfdUnreadable { errno } => {
                write!(
                    f,
                    "its memfd cannot be read: {}",
                    std::io::Error::from_raw_os_error(*errno)
                )
            }
            FrameProblem::Malformed(why) => f.write_str(why),
            FrameProblem::WrongDirection => {
                f.write_str("only a supervisor may send a message of this kind")
            }
            FrameProblem::StringCount => {
                f.write_str("the number of its strings differs from the announced number")
            }
            FrameProblem::ProgramCount => {
                f.write_str("the program must be given by path or by descriptor, and not by both")
            }
            FrameProblem::CpuNumber => write!(
                f,
                "a CPU number is above {}, the largest",
                crate::MAX_CPUS - 1
            ),
            FrameProblem::RlimitNumber(number) => {
                write!(f, "there is no resource limit with the number {number}")
            }
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hint::Frame(problem) => problem.fmt(f),
            Hint::DescriptorCount {
                announced,
                received,
            } => {
                write!(f, "descriptors announced: {announced}, arrived: {received}")?;
                // The kernel drops descriptors that exceed the receiver's limit.
                if received < announced {
                    write!(f, "; {MORE_FILES}")
                } else {
                    Ok(())
                }
            }
            Hint::Template(problem) => write!(f, "its template {problem}"),
            Hint::IdInUse => f.write_str("another run has the same id"),
            Hint::Limit(error) => error.fmt(f),
            Hint::World(error) => error.fmt(f),
            Hint::TooManyStrings {
                strings,
                max_strings,
                bytes,
                max_bytes,
            } => write!(
                f,
                "the run has {strings} arguments, variables and paths with {bytes} bytes, and at \
                 most {max_strings} with {max_bytes} bytes are accepted, each counted with its NUL"
            ),
            Hint::PairNeedsTwoRunners => f.write_str(
                "two runs that start together need two runners in one slot, but this supervisor \
                 has one per slot; start it with more runners per slot",
            ),
            Hint::PartnerNotStarted => {
                f.write_str("its partner, which must start together with it, was not started")
            }
            Hint::ProcHidesProcesses => f.write_str(
                "without cgroups a CPU-time limit is enforced by looking at the processes, and \
                 /proc does not show them: it is mounted with hidepid, or belongs to another PID \
                 namespace; mount /proc without hidepid, or use cgroups",
            ),
            Hint::SwapNeedsCgroups => f.write_str(
                "swap cannot be limited without cgroups; remove \
                the swap limit",
            ),
            Hint::InterpreterMissing => f.write_str(
                "the file exists, but the interpreter or loader that it names does not; add that \
                 to the run's world",
            ),
            Hint::NameTakenAsPath => f.write_str(
                "the run's world has no such file; a name without / is interpreted as a path; \
                 look the name up in directories instead",
            ),
            Hint::Ended(end) => write!(f, "it {end}"),
            Hint::ZygoteLost => f.write_str("it lost its zygote"),
            Hint::EndedUnready => f.write_str("it ended before it could receive the run"),
            Hint::NotReceived => f.write_str(
                "its runner did not receive it in time; the kernel may still be cleaning up after \
                 an earlier run, or another run may be using the CPU",
            ),
            Hint::NotExecuted => f.write_str(
                "it was not executed in time; the file system of the program or of its working \
                 directory may not be responding",
            ),
            Hint::HostOutOfMemory => f.write_str(
                "the host, or the cgroup around the run, ran out of memory, and the kernel killed \
                 a process of the run",
            ),
            Hint::NoStatus => f.write_str("it reported no exit status"),
            Hint::Unwatchable { errno } => {
                let error = std::io::Error::from_raw_os_error(*errno);
                write!(
                    f,
                    "the supervisor cannot watch the socket of its mounter: {error}"
                )
            }
        }
    }
}

pub(crate) const MORE_FILES: &str =
    "raise the limit on open files (ulimit -n) of the process that starts millibox";
pub(crate) const MORE_PROCESSES: &str =
    "raise the process limit (ulimit -u, pids.max) of the process that starts millibox";

/// The remedy for this error number in this step; empty if no remedy is known.
fn remedy(step: Step, errno: i32) -> &'static str {
    match (step, errno) {
        (Step::Exec, libc::ENOENT) => {
            "the run's world has no such file; its paths are not the host's"
        }
        (Step::Exec, libc::ENOEXEC) => {
            "it is neither an ELF program for this machine nor a script with #!"
        }
        (Step::Exec, libc::EACCES) => {
            "it is a directory, lacks the x permission, or is on a noexec mount"
        }
        (Step::Exec, libc::E2BIG) => {
            "arguments and environment are too long: each string may be 128 KiB long, and \
             all together a quarter of the stack limit (execve(2)), which is 8 MiB by default"
        }
        (Step::Exec, libc::ETXTBSY) => "a process has it open for writing; close it first",
        (Step::Trace, libc::EPERM) => {
            "if root starts millibox, it needs CAP_SYS_PTRACE (docker run --cap-add SYS_PTRACE)"
        }
        (Step::MountSource, libc::ENOENT) => "the host has no such path",
        (Step::MountSource, libc::EACCES) => {
            "the sandbox's unprivileged user may not reach it; give others x permission on the \
             directories above it"
        }
        (Step::MountSource, libc::ELOOP) => {
            "the path contains a symbolic link that is not followed: no_follow forbids all links, \
             and links in /proc to open files are never followed"
        }
        (Step::MountSource, libc::ESTALE) => {
            "the path now leads to a different file than when the run was requested; try again"
        }
        (Step::MountSource, libc::EINVAL) => {
            "it has mounts below it that cannot be left out; bind it recursively"
        }
        (Step::MountPoint, libc::ENOTDIR | libc::EISDIR) => {
            "a directory can only be mounted on a directory, and a file on a file"
        }
        (Step::MountPoint, libc::EXDEV) | (Step::Mount, libc::ENOENT) => HOST_FILE_SYSTEM,
        (Step::MountPoint, libc::EROFS | libc::EACCES | libc::EPERM) => {
            "the file system there is not writable; choose a path that exists on it"
        }
        (Step::Mount, libc::ESTALE) => {
            "another run has moved or removed the mount point, which is in a directory that runs \
             may write to; try again, and choose a path that they may not write to"
        }
        (Step::Mount, libc::EPERM) => {
            "mounting a procfs requires that no mount covers a part of the host's /proc, as mounts \
             in containers do (docker run --security-opt systempaths=unconfined)"
        }
        (Step::NewRoot, libc::EINVAL) => "it is not a mount point; mount something there first",
        (Step::WorkingDirectory, libc::ENOENT) => "the run's world has no such directory",
        (Step::WorkingDirectory, libc::EACCES) => {
            "the sandbox's unprivileged user may not enter it; give others x permission on it and \
             on the directories above it"
        }
        (Step::Seccomp, libc::EINVAL) => "the kernel rejects the program as malformed",
        (Step::Affinity, libc::EINVAL) => "none of these CPUs may be used here",
        (Step::Clone, libc::ENOSPC | libc::EUSERS) => {
            "raise the limits in /proc/sys/user (user.max_user_namespaces ...)"
        }
        // Of the system calls of a run, only those that create a process and execve(2) fail with
        // EAGAIN.
        (_, libc::EAGAIN) => MORE_PROCESSES,
        (Step::ProcessLimit, libc::EPERM) => {
            "it is above the process limit that millibox was started with; raise that (ulimit -u)"
        }
        (Step::Clone, libc::EPERM) => "user namespaces are forbidden here; see `millibox doctor`",
        (Step::Rlimit, libc::EPERM) => {
            "it is above the hard limit of runs: 4096 open files, no core dumps, another limit of \
             the request, or the limit that millibox was started with"
        }
        (_, libc::EMFILE) => MORE_FILES,
        (Step::OtherCgroupNamespaces, _) => {
            "where /proc/sys is not writable, version 2 cgroups must be mounted with nsdelegate \
             (mount -o remount,nsdelegate /sys/fs/cgroup)"
        }
        (Step::CpuBandwidth, libc::EOPNOTSUPP) => "it needs a cgroup with the cpu controller",
        (Step::SwapLimit, libc::EOPNOTSUPP) => {
            "the kernel does not account swap; boot with swapaccount=1"
        }
        _ => "",
    }
}

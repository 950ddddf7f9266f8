//! The steps of a run, and how an error at each is told.
//!
//! pid1 and tracee cannot format text; they leave a step, an errno and the number
//! of an object in shared memory. The words are put together here, in the
//! supervisor, once the run is over.

use crate::sys::Errno;
use millibox_wire::{Outcome, RunError};

/// Where a run can fail.
///
/// The order is that of a run. `NotStarted` errors are the request's own; the
/// others say that the sandbox could not do its work (see [`Step::outcome`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Step {
    None = 0,
    Request,
    World,
    Template,
    MountSource,
    MountPoint,
    Mount,
    MountAttributes,
    NewRoot,
    Cgroup,
    Network,
    Clone,
    ParentDeath,
    CgroupNamespace,
    OtherCgroupNamespaces,
    UidMap,
    GidMap,
    Capabilities,
    CloneTracee,
    Confinement,
    Session,
    Seccomp,
    Receive,
    Descriptors,
    WorkingDirectory,
    Rlimit,
    Affinity,
    MemoryLimit,
    SwapLimit,
    ProcessLimit,
    CpuBandwidth,
    Backend,
    Arguments,
    Exec,
    Counters,
    Pid1,
    Zygote,
    Home,
}

const ALL: [Step; 38] = [
    Step::None,
    Step::Request,
    Step::World,
    Step::Template,
    Step::MountSource,
    Step::MountPoint,
    Step::Mount,
    Step::MountAttributes,
    Step::NewRoot,
    Step::Cgroup,
    Step::Network,
    Step::Clone,
    Step::ParentDeath,
    Step::CgroupNamespace,
    Step::OtherCgroupNamespaces,
    Step::UidMap,
    Step::GidMap,
    Step::Capabilities,
    Step::CloneTracee,
    Step::Confinement,
    Step::Session,
    Step::Seccomp,
    Step::Receive,
    Step::Descriptors,
    Step::WorkingDirectory,
    Step::Rlimit,
    Step::Affinity,
    Step::MemoryLimit,
    Step::SwapLimit,
    Step::ProcessLimit,
    Step::CpuBandwidth,
    Step::Backend,
    Step::Arguments,
    Step::Exec,
    Step::Counters,
    Step::Pid1,
    Step::Zygote,
    Step::Home,
];

/// What to do about a path that is missing on a file system that the world has from the host.
pub const NOT_OURS: &str = "; the file system there is the host's, and nothing is made on those: make it there before, or \
                            choose another path";
/// What to do where no descriptor can be had (EMFILE; unix(7), MSG_CTRUNC).
pub const MORE_FILES: &str = "; raise the limit on open files (ulimit -n) around millibox";
/// What to do where no process can be made (fork(2), EAGAIN).
pub const MORE_PROCESSES: &str = "; raise the process limit (ulimit -u, pids.max) around millibox";

impl Step {
    /// The step with this number; unknown numbers are `Home`, as only a home that
    /// has gone wrong writes them.
    pub fn from_number(number: u32) -> Step {
        ALL.get(number as usize).copied().unwrap_or(Step::Home)
    }

    /// Name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Step::None => "none",
            Step::Request => "request",
            Step::World => "world",
            Step::Template => "template",
            Step::MountSource => "mount_source",
            Step::MountPoint => "mount_point",
            Step::Mount => "mount",
            Step::MountAttributes => "mount_attributes",
            Step::NewRoot => "new_root",
            Step::Cgroup => "cgroup",
            Step::Network => "network",
            Step::Clone => "clone",
            Step::ParentDeath => "parent_death",
            Step::CgroupNamespace => "cgroup_namespace",
            Step::OtherCgroupNamespaces => "other_cgroup_namespaces",
            Step::UidMap => "uid_map",
            Step::GidMap => "gid_map",
            Step::Capabilities => "capabilities",
            Step::CloneTracee => "clone_tracee",
            Step::Confinement => "confinement",
            Step::Session => "session",
            Step::Seccomp => "seccomp",
            Step::Receive => "receive",
            Step::Descriptors => "descriptors",
            Step::WorkingDirectory => "working_directory",
            Step::Rlimit => "rlimit",
            Step::Affinity => "affinity",
            Step::MemoryLimit => "memory_limit",
            Step::SwapLimit => "swap_limit",
            Step::ProcessLimit => "process_limit",
            Step::CpuBandwidth => "cpu_bandwidth",
            Step::Backend => "backend",
            Step::Arguments => "arguments",
            Step::Exec => "exec",
            Step::Counters => "counters",
            Step::Pid1 => "pid1",
            Step::Zygote => "zygote",
            Step::Home => "home",
        }
    }

    /// What was being done, for a sentence that begins "cannot ".
    fn doing(self) -> &'static str {
        match self {
            Step::None => "go on",
            Step::Request => "take the request",
            Step::World => "read the request's world",
            Step::Template => "prepare the mount namespace",
            Step::MountSource => "open the source of the mount",
            Step::MountPoint => "make the mount point",
            Step::Mount => "mount",
            Step::MountAttributes => "set read-only, noexec, nosuid or nodev on",
            Step::NewRoot => "take as new root",
            Step::Cgroup => "make the run's cgroup",
            Step::Network => "make the run's network namespace",
            Step::Clone => "clone pid1 into new namespaces",
            Step::ParentDeath => "bind pid1's life to its parent's",
            Step::CgroupNamespace => "make the run's cgroup namespace",
            Step::OtherCgroupNamespaces => "keep the run from making cgroup namespaces",
            Step::UidMap => "map the user id",
            Step::GidMap => "map the group id",
            Step::Capabilities => "drop capabilities",
            Step::CloneTracee => "clone the tracee",
            Step::Confinement => "confine pid1",
            Step::Session => "start a session",
            Step::Seccomp => "attach the seccomp program",
            Step::Receive => "receive the run's descriptors",
            Step::Descriptors => "put the standard descriptors in place",
            Step::WorkingDirectory => "enter the working directory",
            Step::Rlimit => "set the resource limit",
            Step::Affinity => "set the CPU affinity",
            Step::MemoryLimit => "set the memory limit",
            Step::SwapLimit => "set the swap limit",
            Step::ProcessLimit => "set the process limit",
            Step::CpuBandwidth => "set the CPU bandwidth",
            Step::Backend => "hold the run's limits",
            Step::Arguments => "pass the arguments",
            Step::Exec => "execute",
            Step::Counters => "read or reset the run's counters",
            Step::Pid1 => "keep pid1 alive",
            Step::Zygote => "start the slot's zygote process",
            Step::Home => "keep the slot's home process alive",
        }
    }

    /// What a run says that failed here.
    pub fn outcome(self, error: RunError) -> Outcome {
        if self.is_sandbox_failure() { Outcome::SandboxError(error) } else { Outcome::NotStarted(error) }
    }

    /// Whether an error here says nothing about the request.
    fn is_sandbox_failure(self) -> bool {
        matches!(
            self,
            Step::Template
                | Step::Cgroup
                | Step::Network
                | Step::Clone
                | Step::ParentDeath
                | Step::CgroupNamespace
                | Step::OtherCgroupNamespaces
                | Step::UidMap
                | Step::GidMap
                | Step::Capabilities
                | Step::CloneTracee
                | Step::Confinement
                | Step::Session
                | Step::Receive
                | Step::Descriptors
                | Step::Counters
                | Step::Pid1
                | Step::Zygote
                | Step::Home
        )
    }

    fn remedy(self, errno: Errno) -> &'static str {
        match (self, errno.0) {
            (Step::Exec, libc::ENOENT) => "; the run's world has no such file: its paths are not the host's",
            (Step::Exec, libc::ENOEXEC) => "; it is neither an ELF program for this machine nor a script with #!",
            (Step::Exec, libc::EACCES) => "; it is a directory, lacks the x permission, or lies on a noexec mount",
            (Step::Exec, libc::E2BIG) => {
                "; arguments and environment are too long: each may have 128 KiB, all together a quarter of the limit on \
                 the stack (execve(2)), which is 8 MiB if the request does not say another"
            }
            (Step::Exec, libc::ETXTBSY) => "; somebody has it open for writing: that must be closed before",
            (Step::MountSource, libc::ENOENT) => "; there is no such path on the host",
            (Step::MountSource, libc::EACCES) => {
                "; the sandbox's unprivileged user may not reach it: give others x permission on the directories above"
            }
            (Step::MountSource, libc::ELOOP) => {
                "; a symbolic link on the way is not followed: with no_follow none is, and never one in /proc that \
                 leads to what a process has open"
            }
            (Step::MountSource, libc::ESTALE) => {
                "; it is another file by now than when the run was asked for: ask again"
            }
            (Step::MountSource, libc::EINVAL) => {
                "; it has mounts below it that cannot be left out: bind it recursively"
            }
            (Step::MountPoint, libc::ENOTDIR | libc::EISDIR) => {
                "; a directory can only be mounted on a directory, a file on a file"
            }
            (Step::MountPoint, libc::EXDEV) | (Step::Mount, libc::ENOENT) => NOT_OURS,
            (Step::MountPoint, libc::EROFS | libc::EACCES | libc::EPERM) => {
                "; the file system there cannot be written: choose a path that exists on it"
            }
            (Step::Mount, libc::ESTALE) => {
                "; another run has moved or removed the mount point, which lies where runs may write: ask again, and choose a \
                 path where they may not"
            }
            (Step::Mount, libc::EPERM) => {
                "; for a procfs: the host's /proc must be visible in full, not covered in part as in containers \
                 (docker run --security-opt systempaths=unconfined)"
            }
            (Step::NewRoot, libc::EINVAL) => "; it is no mount point: mount something there first",
            (Step::WorkingDirectory, libc::ENOENT) => "; the directory is not in the run's world",
            (Step::WorkingDirectory, libc::EACCES) => {
                "; the sandbox's unprivileged user may not enter it: give others x permission on it and on the \
                 directories above"
            }
            (Step::Seccomp, libc::EINVAL) => "; the kernel refuses the program as malformed",
            (Step::Affinity, libc::EINVAL) => "; none of these CPUs may be used here",
            (Step::Clone, libc::ENOSPC | libc::EUSERS) => "; raise user.max_user_namespaces and its kin (sysctl)",
            // Of the calls that steps make those that make a process say so, and execve(2).
            (_, libc::EAGAIN) => MORE_PROCESSES,
            (Step::ProcessLimit, libc::EPERM) => {
                "; it is above the limit on processes that millibox was started with: raise that (ulimit -u)"
            }
            (Step::Clone, libc::EPERM) => "; user namespaces are forbidden here: see `millibox doctor`",
            (Step::Rlimit, libc::EPERM) => {
                "; it is above the hard limit that runs have here: 4096 open files, no core dumps, what another limit of \
                 the request says, or what millibox was started with"
            }
            (_, libc::EMFILE) => MORE_FILES,
            (Step::OtherCgroupNamespaces, _) => {
                "; where /proc/sys cannot be written, version 2 cgroups must be mounted with nsdelegate \
                 (mount -o remount,nsdelegate /sys/fs/cgroup)"
            }
            (Step::CpuBandwidth, libc::EOPNOTSUPP) => "; it needs a cgroup with the cpu controller",
            (Step::SwapLimit, libc::EOPNOTSUPP) => "; the kernel does not account swap: boot with swapaccount=1",
            (Step::CpuBandwidth, libc::EINVAL) => "; MAX must be at least 1000 us, PERIOD between 1000 and 1000000 us",
            _ => "",
        }
    }

    /// The error in words: step, object, errno, remedy.
    pub fn error(self, errno: Errno, object: &str) -> RunError {
        self.error_with(errno, object, self.remedy(errno))
    }

    /// The same, where more is known of what to do than the errno tells.
    pub fn error_with(self, errno: Errno, object: &str, remedy: &str) -> RunError {
        let mut message = format!("cannot {}", self.doing());
        if !object.is_empty() {
            message.push(' ');
            message.push_str(object);
        }
        if errno.0 != 0 {
            message.push_str(&format!(": {}", errno_text(errno)));
        }
        message.push_str(remedy);
        RunError { step: self.name().to_owned(), errno: (errno.0 != 0).then_some(errno.0), message }
    }

    /// An error whose cause is told by other words than an errno's.
    pub fn says(self, message: impl Into<String>) -> RunError {
        RunError {
            step: self.name().to_owned(),
            errno: None,
            message: format!("cannot {}: {}", self.doing(), message.into()),
        }
    }
}

/// Says a line on standard error, if anybody still reads it.
///
/// `eprintln!` panics where nobody does. The keeper has something to say just when both its supervisor and its client
/// have been killed, and what it has left to do then nobody else does.
pub fn complain(line: impl core::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "millibox: {line}");
}

/// The errno's description and number (errno(3)).
pub fn errno_text(errno: Errno) -> String {
    // "No such file or directory (os error 2)" is std's; the number is what people search for.
    std::io::Error::from_raw_os_error(errno.0).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_steps_agree() {
        for (number, step) in ALL.into_iter().enumerate() {
            assert_eq!(step as usize, number);
            assert_eq!(Step::from_number(number as u32), step);
        }
        assert_eq!(Step::from_number(4000), Step::Home);
    }

    #[test]
    fn an_error_names_step_object_errno_and_remedy() {
        let error = Step::Exec.error(Errno(libc::EACCES), "/data");
        assert_eq!(error.step, "exec");
        assert_eq!(error.errno, Some(13));
        assert!(error.message.starts_with("cannot execute /data: Permission denied (os error 13); it is a directory"));
        assert!(Step::Exec.error(Errno(libc::ENOENT), "the program").message.contains("not the host's"));
        for step in [Step::Template, Step::Clone, Step::Exec] {
            assert!(step.error(Errno(libc::EAGAIN), "").message.contains("ulimit -u"), "{step:?}");
        }
        assert!(Step::ProcessLimit.error(Errno(libc::EPERM), "").message.contains("ulimit -u"));
    }
}

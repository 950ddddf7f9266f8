//! Facts about a running supervisor.

use crate::error::joined;
use crate::{Backend, BackendRefusal};
use millibox_wire::Hello;
use std::fmt;
use std::path::PathBuf;

/// Facts about a running supervisor; see [`Supervisor::info`](crate::Supervisor::info).
///
/// ```
/// use millibox::Supervisor;
///
/// let Ok(supervisor) = Supervisor::start() else { return };
/// let info = supervisor.info();
/// println!("backend {}, {} slots", info.backend(), info.slots());
/// for warning in info.warnings() {
///     eprintln!("warning: {warning}");
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Info {
    hello: Hello,
    warnings: Vec<Warning>,
}

impl Info {
    pub(crate) fn new(hello: Hello, has_weak_backend: bool) -> Info {
        let mut warnings = Vec::new();
        if has_weak_backend {
            warnings.push(Warning::NoCgroups {
                declined: hello.declined.clone(),
            });
        }
        if hello.landlock == 0 {
            warnings.push(Warning::NoLandlock);
        }
        if !hello.file_locks {
            warnings.push(Warning::UncountedFileLocks);
        }
        Info { hello, warnings }
    }

    /// The version of this library. The supervisor may have a different patch version, which speaks
    /// the same protocol.
    pub fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// The resource backend, which limits and measures runs.
    pub fn backend(&self) -> Backend {
        self.hello.backend
    }

    /// The better backends that cannot be used, and why.
    pub fn declined(&self) -> &[BackendRefusal] {
        &self.hello.declined
    }

    /// The number of runs that are served at the same time.
    pub fn slots(&self) -> usize {
        self.hello.slots as usize
    }

    /// The features that do not work fully on this machine.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The version of landlock(7) that confines the supervisor. `None` if the kernel has no
    /// landlock.
    pub fn landlock(&self) -> Option<u32> {
        (self.hello.landlock != 0).then_some(self.hello.landlock)
    }

    /// Whether the supervisor counts file locks (fcntl(2), flock(2)), whose memory the kernel
    /// charges to no cgroup. If it does, a run with a memory limit and more than 1,024 locks counts
    /// as having reached that limit. The supervisor cannot count the locks if /proc hides them
    /// (`subset=pid`, `hidepid`; proc(5)).
    pub fn counts_file_locks(&self) -> bool {
        self.hello.file_locks
    }

    /// The process id of the supervisor.
    pub fn pid(&self) -> u32 {
        self.hello.pid
    }

    /// The user and group id of the supervisor and, outside the sandbox, of all its runs.
    pub fn ids(&self) -> (u32, u32) {
        (self.hello.uid, self.hello.gid)
    }

    /// The directories of the cgroups that were created for the supervisor.
    pub fn cgroups(&self) -> impl Iterator<Item = PathBuf> {
        self.hello
            .cgroups
            .iter()
            .map(|path| PathBuf::from(String::from_utf8_lossy(path).into_owned()))
    }
}

/// A weakness of a supervisor on this machine.
///
/// ```
/// use millibox::{Supervisor, Warning};
///
/// let Ok(supervisor) = Supervisor::start() else { return };
/// let is_weak = |warning: &Warning| matches!(warning, Warning::NoCgroups { .. });
/// if supervisor.info().warnings().iter().any(is_weak) {
///     eprintln!("limits apply to single processes only");
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// No cgroups can be used, so limits apply to single processes.
    NoCgroups {
        /// The better backends that cannot be used, and why.
        declined: Vec<BackendRefusal>,
    },
    /// The kernel has no landlock(7), so the supervisor is confined by seccomp alone.
    NoLandlock,
    /// /proc hides file locks, so their memory is not limited.
    UncountedFileLocks,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::NoCgroups { declined } => write!(
                f,
                "no cgroups can be used, so limits apply to single processes: {}",
                joined(declined)
            ),
            Warning::NoLandlock => f.write_str(
                "the kernel has no landlock, so the supervisor is confined by seccomp alone",
            ),
            Warning::UncountedFileLocks => {
                f.write_str("/proc hides file locks, so their memory is not limited")
            }
        }
    }
}

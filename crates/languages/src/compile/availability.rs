//! Reports whether a suite can be used on this machine, and what to do if it cannot.

use super::captured::RunFailure;
use super::reach::ClosedPath;
use super::world::WorldError;
use crate::Cause;
use millibox::{RunError, RunResult};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Whether a suite can be used on this machine. To find out, its tools are started in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Availability {
    /// The tools work.
    Available {
        /// The first line of the first tool's version.
        version: String,
    },
    /// A tool is not installed.
    Missing {
        /// Name of the tool.
        program: String,
        /// The remedy.
        remedy: Remedy,
    },
    /// The sandbox's user cannot reach a tool.
    Unreachable {
        /// Path of the tool.
        program: PathBuf,
        /// The reason.
        reason: Obstacle,
        /// The remedy.
        remedy: Remedy,
    },
    /// A tool does not work in the sandbox.
    Broken {
        /// Path of the tool.
        program: PathBuf,
        /// The reason.
        reason: Box<ToolFault>,
        /// The remedy.
        remedy: Remedy,
    },
}

/// What to do about a tool or library. The message is a command, possibly with a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Install Debian packages.
    Install {
        /// The packages, as arguments of `apt install`.
        package: String,
        /// Another possibility.
        hint: Option<String>,
    },
    /// Install Debian packages again.
    Reinstall {
        /// The packages, as arguments of `apt install`.
        package: String,
    },
    /// Check the sandbox with `millibox doctor`.
    Doctor,
}

/// Why the sandbox's user cannot reach a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Obstacle {
    /// The user may not enter a directory above the tool.
    #[error(transparent)]
    Closed(ClosedPath),
    /// The kernel denied the exec (EACCES).
    #[error(transparent)]
    Denied(Box<RunError>),
}

/// Why a tool does not work in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolFault {
    /// The file cannot be inspected.
    #[error("{0}")]
    Io(Cause<io::Error>),
    /// The installation of the tool cannot be determined.
    #[error(transparent)]
    Installation(#[from] InstallationFault),
    /// The tool cannot be executed, or the sandbox failed.
    #[error(transparent)]
    NotRun(RunError),
    /// The run has no result.
    #[error(transparent)]
    Run(RunFailure),
    /// The world of the tool cannot be described.
    #[error(transparent)]
    World(WorldError),
    /// The tool failed to print its version.
    #[error("{result}{}", .message.as_ref().map_or_else(String::new, |line| format!(": {line}")))]
    Version {
        /// The result of the run.
        result: RunResult,
        /// The first line that the tool printed.
        message: Option<String>,
    },
}

/// Why the installation of a tool cannot be determined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstallationFault {
    /// The executable has too few directories above it.
    #[error("{} has no {levels} directories above it", .executable.display())]
    NoDirectory {
        /// The executable.
        executable: PathBuf,
        /// Levels that the suite names.
        levels: usize,
    },
    /// The tool printed a directory that does not exist.
    #[error("the tool reports its installation in {printed:?}: {cause}")]
    Printed {
        /// The printed path.
        printed: String,
        /// The kernel's error.
        cause: Cause<io::Error>,
    },
    /// The installation contains the user's home directory, or is a directory at the top level.
    #[error("its installation {} is too large to show to sandboxed programs", .0.display())]
    TooLarge(PathBuf),
    /// The executable is outside the installation.
    #[error("{} is not in its installation {}", .executable.display(), .root.display())]
    Outside {
        /// The executable.
        executable: PathBuf,
        /// The installation.
        root: PathBuf,
    },
    /// The command that prints the installation failed.
    #[error("{command}: {fault}")]
    Query {
        /// The command.
        command: String,
        /// The reason.
        fault: QueryFault,
    },
}

/// Why a tool did not print the path of its installation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryFault {
    /// The tool cannot be started or waited for.
    #[error("{0}")]
    Io(Cause<io::Error>),
    /// The output cannot be read.
    #[error("{0}")]
    Read(Errno),
    /// The tool did not end in time.
    #[error("it did not exit in time")]
    Timeout,
    /// The tool printed something other than an absolute path.
    #[error("it printed {0:?}, which is not an absolute path")]
    NoPath(String),
    /// The tool failed.
    #[error("{0}")]
    Failed(ExitStatus),
}

impl Availability {
    /// Whether the suite can be used.
    pub fn is_available(&self) -> bool {
        matches!(self, Availability::Available { .. })
    }

    /// The first line of the first tool's version, if the suite can be used.
    pub fn version(&self) -> Option<&str> {
        match self {
            Availability::Available { version } => Some(version),
            _ => None,
        }
    }

    /// Debian packages to install, as arguments of `apt install`, if a tool is missing.
    pub fn missing_package(&self) -> Option<&str> {
        match self {
            Availability::Missing { remedy, .. } => remedy.package(),
            _ => None,
        }
    }

    /// The remedy if the suite cannot be used.
    pub fn remedy(&self) -> Option<&Remedy> {
        match self {
            Availability::Available { .. } => None,
            Availability::Missing { remedy, .. }
            | Availability::Unreachable { remedy, .. }
            | Availability::Broken { remedy, .. } => Some(remedy),
        }
    }
}

impl Remedy {
    /// Debian packages to install, as arguments of `apt install`.
    pub fn package(&self) -> Option<&str> {
        match self {
            Remedy::Install { package, .. } | Remedy::Reinstall { package } => Some(package),
            Remedy::Doctor => None,
        }
    }
}

impl fmt::Display for Availability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Availability::Available { version } => f.write_str(version),
            Availability::Missing { program, .. } => write!(f, "{program} is not installed"),
            Availability::Unreachable {
                program, reason, ..
            } => write!(
                f,
                "{} cannot be reached by the sandbox: {reason}",
                program.display()
            ),
            Availability::Broken {
                program, reason, ..
            } => write!(
                f,
                "{} does not work in the sandbox: {reason}",
                program.display()
            ),
        }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::Install { package, hint } => {
                write!(f, "apt install {package}")?;
                match hint {
                    Some(hint) => write!(f, ", {hint}"),
                    None => Ok(()),
                }
            }
            Remedy::Reinstall { package } => write!(f, "apt install --reinstall {package}"),
            Remedy::Doctor => f.write_str("millibox doctor"),
        }
    }
}

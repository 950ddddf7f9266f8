//! The errors of the client.

use crate::remedy::remedy;
use crate::{
    BackendRefusal, EndReason, LimitError, Mistakes, StartError, WorldError, WorldProblem,
};
use millibox_wire::{MAX_CPUS, RLIMITS};
use std::ffi::OsString;
use std::path::PathBuf;

/// The reason why a call of this library failed. A failed run is not an error but an
/// [`Outcome`](crate::Outcome).
///
/// ```
/// use millibox::{Error, Request, RequestMistake, Supervisor};
///
/// let Ok(supervisor) = Supervisor::start() else { return };
/// let error = supervisor.run(&Request::new("")).unwrap_err();
/// assert!(matches!(&error, Error::Request(_)));
/// assert_eq!(error.request_mistakes(), [RequestMistake::EmptyPath]);
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No supervisor could be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The supervisor ended, or the connection was closed, for this reason.
    #[error("{service}: {0}", service = service(.0))]
    Died(EndReason),
    /// The request is not valid; nothing was sent. The list contains all mistakes that were found.
    #[error(transparent)]
    Request(#[from] Mistakes<RequestMistake>),
    /// A system call of the library failed.
    #[error("cannot {what}: {error}{}", remedy(.error, None))]
    System {
        /// The failed action, as it continues "cannot ...".
        what: &'static str,
        /// The kernel's error.
        error: std::io::Error,
    },
}

impl Error {
    /// The mistakes in the request; empty for other errors.
    pub fn request_mistakes(&self) -> &[RequestMistake] {
        match self {
            Error::Request(mistakes) => mistakes.as_slice(),
            _ => &[],
        }
    }

    pub(crate) fn system(what: &'static str) -> impl Fn(rustix::io::Errno) -> Error {
        move |errno| Error::System {
            what,
            error: errno.into(),
        }
    }
}

impl From<RequestMistake> for Error {
    fn from(mistake: RequestMistake) -> Error {
        Error::Request(mistake.into())
    }
}

/// A mistake in a request or its world. Nothing was sent to the supervisor.
///
/// ```
/// use millibox::{Request, RequestMistake};
///
/// let request = Request::new("/bin/true").cpus([2000]);
/// assert_eq!(request.check(), Err(RequestMistake::CpuNumber(2000).into()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestMistake {
    /// A limit has a value that no run can have.
    #[error("{0}")]
    Limit(LimitError),
    /// The world is not valid.
    #[error("{0}")]
    World(WorldError),
    /// The path of the program is empty.
    #[error("the path of the program is empty; name a program")]
    EmptyPath,
    /// The name of the program to look up is empty.
    #[error("the name of the program to look up is empty; name a program")]
    EmptyName,
    /// A name with `/` cannot be looked up.
    #[error("{0:?} contains a / and cannot be looked up; pass it as a path")]
    NameHasSlash(OsString),
    /// No directories were given for the look-up of a name.
    #[error("{0:?} cannot be looked up without directories; name at least one")]
    NoDirectories(OsString),
    /// The arguments are empty, or the first one is.
    #[error(
        "argv and argv[0] must not be empty; pass the name of the program as the first argument"
    )]
    NoArgv0,
    /// The program is a script and was passed by descriptor.
    #[error(
        "the program is a script, which cannot be executed by descriptor: its interpreter would \
         open it by name, and a descriptor has no name (execveat(2), BUGS); pass its path, or run \
         the interpreter with the script as standard input"
    )]
    ScriptByDescriptor,
    /// An environment variable has no name.
    #[error("the environment variable {0:?} has no name")]
    UnnamedVariable(OsString),
    /// The name of an environment variable contains `=`.
    #[error("the environment variable name {0:?} contains a =, which begins the value")]
    VariableHasEquals(OsString),
    /// The name of an environment variable contains a NUL byte.
    #[error("the environment variable name {0:?} contains a NUL byte")]
    VariableHasNul(OsString),
    /// A path, argument or variable contains a NUL byte.
    #[error("{0:?} contains a NUL byte")]
    HasNul(OsString),
    /// Arguments, environment and world are too long.
    #[error(
        "arguments, environment and world have {bytes} bytes, and at most {max_bytes} are \
         accepted; pass long data in a file"
    )]
    TooLong {
        /// The total number of bytes.
        bytes: usize,
        /// The maximum number of bytes.
        max_bytes: usize,
    },
    /// The name of a resource limit is unknown.
    #[error("unknown resource limit {0:?}; the names are {names}", names = RLIMITS.join(", "))]
    UnknownRlimit(String),
    /// A CPU number is too large.
    #[error("CPU {0} does not exist; the largest number is {last}", last = MAX_CPUS - 1)]
    CpuNumber(usize),
    /// The input of [`Request::input`](crate::Request::input) cannot be kept in memory.
    #[error(
        "cannot keep the input in memory: {}{}",
        error_text(*.0),
        remedy(&error_text(*.0), None)
    )]
    Input(i32),
    /// The library of prepared programs does not exist at any of these paths.
    #[error(
        "cannot find libmillibox_ready.so at {}; install millibox (make install or its package), \
         or set MILLIBOX_READY to its path",
        .0.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    )]
    NoReadyLibrary(Vec<PathBuf>),
    /// The list of CPUs is empty.
    #[error("the list of CPUs is empty; name at least one, or omit it")]
    NoCpus,
    /// The supervisor's slots have one runner each, and a pair needs two.
    #[error(
        "a pair needs a slot with two runners; start the supervisor with at least two runners per \
         slot"
    )]
    PairNeedsTwoRunners,
    /// Without cgroups the limit is weaker, and the caller did not choose the `rlimit` backend by
    /// name.
    #[error(
        "a {limit} for a whole process tree needs a cgroup, and no cgroup can be used \
         ({reasons}); {}see `millibox doctor`",
        if *.has_weaker_form {
            "to limit single processes instead, choose the backend rlimit by name, or "
        } else {
            ""
        },
        reasons = joined(.declined)
    )]
    NeedsCgroup {
        /// The limit.
        limit: &'static str,
        /// Whether the `rlimit` backend has a weaker form of this limit.
        has_weaker_form: bool,
        /// The better backends that cannot be used, with the reasons.
        declined: Vec<BackendRefusal>,
    },
    /// A seccomp policy cannot be compiled.
    #[error("seccomp policy {policy}: {error}")]
    SeccompPolicy {
        /// The name of the policy.
        policy: String,
        /// The error of the compiler.
        error: millibox_seccomp::ValidateError,
    },
    /// A seccomp program is not valid.
    #[error("seccomp program: {0}")]
    SeccompProgram(millibox_seccomp::ValidateError),
    /// A seccomp program refuses execveat(2).
    #[error(
        "seccomp program: it returns {action:#010x} for execveat, so no program could be \
         executed; allow that call"
    )]
    SeccompRefusesExec {
        /// The program's return value (seccomp(2), `SECCOMP_RET_*`).
        action: u32,
    },
    /// A seccomp program cannot be read from a pipe.
    #[error(
        "seccomp program: the descriptor cannot be read from its beginning (a pipe?); use a file \
         or a memfd"
    )]
    SeccompNotSeekable,
}

impl From<WorldProblem> for RequestMistake {
    fn from(problem: WorldProblem) -> RequestMistake {
        RequestMistake::World(problem.into())
    }
}

/// The state of the supervisor: it ended, or only this process cannot use it.
fn service(reason: &EndReason) -> &'static str {
    match reason {
        EndReason::ClosedHere | EndReason::Forked => "the supervisor cannot be used",
        _ => "supervisor died",
    }
}

fn error_text(errno: i32) -> std::io::Error {
    std::io::Error::from_raw_os_error(errno)
}

/// Joins refusals to the text of one sentence.
pub(crate) fn joined(refusals: &[BackendRefusal]) -> String {
    let refusals: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    refusals.join("; ")
}

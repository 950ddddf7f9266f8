//! The options of a supervisor, and its start.

use crate::executable::{Executable, variable};
use crate::launcher::Launcher;
use crate::process::Process;
use crate::starting::Starting;
use crate::{Error, Mistakes, OptionMistake, StartError, Supervisor};
use millibox_wire::{MAX_CPUS, MAX_RUNNERS_PER_SLOT, MAX_SLOTS};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// The environment variable that names the parent of the cgroups.
const CGROUP_PARENT: &str = "MILLIBOX_CGROUP_PARENT";

/// The resource backend that a supervisor uses.
///
/// ```
/// use millibox::{Backend, BackendChoice, Supervisor};
///
/// // Fails unless version 2 cgroups can be used.
/// let started = Supervisor::builder().backend(BackendChoice::Cgroup2).start();
/// if let Ok(supervisor) = started {
///     assert_eq!(supervisor.info().backend(), Backend::Cgroup2);
/// }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackendChoice {
    /// The best available backend. Without cgroups, limits that need a cgroup are rejected.
    #[default]
    Auto,
    /// Version 2 cgroups, or an error.
    Cgroup2,
    /// Version 1 cgroups, or an error.
    Hybrid,
    /// Resource limits of single processes, which are weaker.
    Rlimit,
}

/// The options of a supervisor. The methods do not check their values; all mistakes are reported
/// together at the start.
///
/// ```
/// use millibox::Supervisor;
///
/// let Ok(supervisor) = Supervisor::builder().slots(2).pin_slots(true).start() else { return };
/// assert_eq!(supervisor.info().slots(), 2);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Builder {
    executable: Option<PathBuf>,
    pub(crate) slots: Option<usize>,
    pub(crate) runners_per_slot: Option<usize>,
    backend: BackendChoice,
    cgroup_parent: Option<String>,
    user: Option<(u32, u32)>,
    pub(crate) pin: bool,
    pub(crate) cpus: Option<Vec<usize>>,
    separate_pid1: bool,
    pub(crate) launcher: Option<Arc<dyn Launcher>>,
}

/// A supervisor that this process has started and that has not yet sent its greeting.
pub(crate) struct Spawned {
    pub(crate) socket: OwnedFd,
    pub(crate) process: Process,
    executable: Executable,
    /// The parent of the cgroups, if the environment variable named it.
    parent_from_variable: Option<String>,
}

impl Builder {
    /// The largest number of slots of a supervisor.
    pub const MAX_SLOTS: usize = MAX_SLOTS;

    /// Sets the path of the supervisor's executable. The default is the value of the environment
    /// variable `MILLIBOX_SUPERVISOR`. If the variable is not set, the library looks beside the
    /// running program, in libexec/millibox of the same prefix and on `PATH`.
    #[must_use]
    pub fn executable(mut self, path: impl Into<PathBuf>) -> Builder {
        self.executable = Some(path.into());
        self
    }

    /// Sets the number of runs that are served at the same time, from 1 to 512
    /// ([`Builder::MAX_SLOTS`]). The default is one run for each CPU.
    #[must_use]
    pub fn slots(mut self, slots: usize) -> Builder {
        self.slots = Some(slots);
        self
    }

    /// Sets the runners per slot, from 1 to 4. The default is 3: while one runner runs a program,
    /// the others are cleaned up and prepare the next target. A pair needs 2 runners. One runner is
    /// enough for a supervisor that serves a single run.
    #[must_use]
    pub fn runners_per_slot(mut self, runners: usize) -> Builder {
        self.runners_per_slot = Some(runners);
        self
    }

    /// Sets the resource backend.
    #[must_use]
    pub fn backend(mut self, backend: BackendChoice) -> Builder {
        self.backend = backend;
        self
    }

    /// Sets the parent of the sandbox's cgroups, as an absolute path within each hierarchy as
    /// mounted here. The default is the value of the environment variable `MILLIBOX_CGROUP_PARENT`.
    /// If the variable is unset or empty, the supervisor chooses a place.
    #[must_use]
    pub fn cgroup_parent(mut self, path: impl Into<String>) -> Builder {
        self.cgroup_parent = Some(path.into());
        self
    }

    /// Sets the user and group that the supervisor switches to if this process is root. The default
    /// is an unused id. Any other user may only pass its own ids; with other ids the start fails.
    #[must_use]
    pub fn user(mut self, uid: u32, gid: u32) -> Builder {
        self.user = Some((uid, gid));
        self
    }

    /// Keeps each slot on one CPU, together with its runs that specify no CPUs, so that run times
    /// vary less. Slots share a CPU only if there are more slots than CPUs.
    #[must_use]
    pub fn pin_slots(mut self, pin: bool) -> Builder {
        self.pin = pin;
        self
    }

    /// Keeps the supervisor and its runs on these CPUs. Pass at least one CPU number, up to 1023.
    /// The default is all CPUs. A run that specifies its own CPUs uses those.
    #[must_use]
    pub fn cpus(mut self, cpus: impl IntoIterator<Item = usize>) -> Builder {
        self.cpus = Some(cpus.into_iter().collect());
        self
    }

    /// Gives pid1 an address space of its own, which is stricter and slower.
    /// docs/security/shared-memory.md explains the difference.
    #[must_use]
    pub fn separate_pid1(mut self, separate: bool) -> Builder {
        self.separate_pid1 = separate;
        self
    }

    /// Starts the supervisor. The supervisor ends with this process and serves no other process, so
    /// start it after a fork(2), not before.
    ///
    /// # Errors
    /// The supervisor cannot be found or cannot start, or an option is not valid.
    pub fn start(self) -> Result<Supervisor, Error> {
        self.begin()?.finish()
    }

    /// Starts the supervisor like [`Builder::start`], but does not wait until it is ready. The
    /// caller can prepare worlds and requests in that time.
    ///
    /// ```
    /// use millibox::{Request, Supervisor};
    ///
    /// let Ok(starting) = Supervisor::builder().slots(1).begin() else { return };
    /// let request = Request::new("/bin/true");
    /// let Ok(supervisor) = starting.finish() else { return };
    /// supervisor.run(&request).and_then(|run| run.wait()).unwrap();
    /// ```
    ///
    /// # Errors
    /// The supervisor cannot be found or executed, or an option is not valid.
    pub fn begin(self) -> Result<Starting, Error> {
        let starting = match &self.launcher {
            None => {
                let spawned = self.spawn()?;
                Starting {
                    socket: Some(spawned.socket),
                    process: Arc::new(Mutex::new(spawned.process)),
                    executable: Some(spawned.executable),
                    parent_from_variable: spawned.parent_from_variable,
                    is_rlimit_chosen: self.backend == BackendChoice::Rlimit,
                    has_pairs: self.runners_per_slot != Some(1),
                }
            }
            Some(launcher) => {
                Mistakes::check(self.mistakes()).map_err(StartError::Options)?;
                let launched = launcher.launch(&self.numbers());
                let launched = launched.map_err(StartError::Launcher)?;
                let process = Process::of_other(launched.process, launched.stderr);
                Starting {
                    socket: Some(launched.socket),
                    process: Arc::new(Mutex::new(process)),
                    executable: None,
                    parent_from_variable: None,
                    is_rlimit_chosen: self.backend == BackendChoice::Rlimit,
                    has_pairs: self.runners_per_slot != Some(1),
                }
            }
        };
        Ok(starting)
    }

    /// Checks the options and starts the process.
    pub(crate) fn spawn(&self) -> Result<Spawned, Error> {
        let mut mistakes = self.mistakes();
        let (cgroup_parent, from_variable) = self.chosen_cgroup_parent(&mut mistakes);
        Mistakes::check(mistakes).map_err(StartError::Options)?;
        let executable = Executable::choose(self.executable.as_deref())?;
        let (socket, supervisor_end) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(Error::system("create a socket"))?;
        let mut command = self.command(&executable, cgroup_parent.as_deref());
        command.stdin(Stdio::from(supervisor_end));
        let child = command
            .spawn()
            .map_err(|error| executable.not_executed(error))?;
        // This closes the client's copy of the supervisor's end of the socket.
        drop(command);
        Ok(Spawned {
            socket,
            process: Process::watch(child, executable.path.clone())?,
            executable,
            parent_from_variable: cgroup_parent.filter(|_| from_variable),
        })
    }

    /// The mistakes in the CPUs and numbers.
    fn mistakes(&self) -> Vec<OptionMistake> {
        let mut mistakes = Vec::new();
        if self.cpus.as_ref().is_some_and(Vec::is_empty) {
            mistakes.push(OptionMistake::NoCpus);
        }
        let cpus = self.cpus.iter().flatten();
        mistakes.extend(
            cpus.filter(|&&cpu| cpu >= MAX_CPUS)
                .map(|&cpu| OptionMistake::CpuNumber(cpu)),
        );
        for (counted, number, max) in [
            ("slots", self.slots, MAX_SLOTS),
            (
                "runners per slot",
                self.runners_per_slot,
                MAX_RUNNERS_PER_SLOT,
            ),
        ] {
            if let Some(number) = number.filter(|number| !(1..=max).contains(number)) {
                mistakes.push(OptionMistake::OutOfRange {
                    counted,
                    number,
                    max,
                });
            }
        }
        mistakes
    }

    /// The parent of the cgroups, and whether the environment variable named it.
    fn chosen_cgroup_parent(&self, mistakes: &mut Vec<OptionMistake>) -> (Option<String>, bool) {
        let (parent, named_by) = match &self.cgroup_parent {
            Some(parent) => (Some(parent.as_str().into()), "the cgroup parent"),
            None => (variable(CGROUP_PARENT), CGROUP_PARENT),
        };
        let Some(parent) = parent else {
            return (None, false);
        };
        match parent.to_str() {
            Some(path) if path.starts_with('/') && path.split('/').all(|part| part != "..") => {
                (Some(path.to_owned()), self.cgroup_parent.is_none())
            }
            _ => {
                mistakes.push(OptionMistake::CgroupParent {
                    parent: parent.to_string_lossy().into_owned(),
                    named_by,
                });
                (None, false)
            }
        }
    }

    /// The command that starts the supervisor. Its standard input is the socket.
    fn command(&self, executable: &Executable, cgroup_parent: Option<&str>) -> Command {
        let mut command = Command::new(&executable.path);
        command
            .arg("--socket=0")
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command.current_dir("/").env_clear();
        // systemd-run needs these variables to find the user's manager.
        for name in ["PATH", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let mut option = |name: &str, value: &dyn AsRef<OsStr>| {
            let mut argument = std::ffi::OsString::from(name);
            argument.push(value);
            command.arg(argument);
        };
        if let Some(slots) = self.slots {
            option("--slots=", &slots.to_string());
        }
        if let Some(runners) = self.runners_per_slot {
            option("--runners=", &runners.to_string());
        }
        let backend = match self.backend {
            BackendChoice::Auto => "auto",
            BackendChoice::Cgroup2 => "cgroup2",
            BackendChoice::Hybrid => "hybrid",
            BackendChoice::Rlimit => "rlimit",
        };
        option("--backend=", &backend);
        if let Some(parent) = cgroup_parent {
            option("--cgroup-parent=", &parent);
        }
        if let Some((uid, gid)) = self.user {
            option("--user=", &format!("{uid}:{gid}"));
        }
        if self.pin {
            option("--pin", &"");
        }
        if let Some(cpus) = &self.cpus {
            let numbers: Vec<String> = cpus.iter().map(usize::to_string).collect();
            option("--cpus=", &numbers.join(","));
        }
        if self.separate_pid1 {
            option("--pid1=separate", &"");
        }
        command
    }
}

impl Supervisor {
    /// Starts a supervisor with the default options.
    ///
    /// # Errors
    /// See [`Builder::start`].
    pub fn start() -> Result<Supervisor, Error> {
        Builder::default().start()
    }

    /// Returns a builder with the default options.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

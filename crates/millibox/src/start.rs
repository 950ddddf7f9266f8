//! Finding and starting the supervisor.

use crate::connection::{Connection, NewRun};
use crate::{Backend, Error, Handle, Request, RequestError};
use millibox_wire::{Hello, MAX_CPUS, MAX_RUNNERS_PER_SLOT, MAX_SLOTS};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, pidfd_open, pidfd_send_signal,
    waitid,
};
use std::collections::HashSet;
use std::ffi::OsString;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const EXECUTABLE: &str = "millibox-supervisor";

/// Which resource backend to use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// The best available one. Without cgroups, limits that need one are rejected.
    #[default]
    Auto,
    /// Version 2 cgroups, or an error.
    Cgroup2,
    /// Version 1 cgroups, or an error.
    Hybrid,
    /// Resource limits of single processes, which are weaker.
    Rlimit,
}

/// The options of a supervisor.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    executable: Option<PathBuf>,
    slots: Option<usize>,
    runners_per_slot: Option<usize>,
    backend: BackendChoice,
    cgroup_parent: Option<String>,
    user: Option<(u32, u32)>,
    pin: bool,
    cpus: Option<Vec<usize>>,
    separate_pid1: bool,
}

impl Builder {
    /// The largest number of slots of a supervisor.
    pub const MOST_SLOTS: usize = MAX_SLOTS;

    /// Sets the path of the supervisor's executable. By default it is the value of the environment
    /// variable `MILLIBOX_SUPERVISOR`, or the executable is looked up beside the running program,
    /// in libexec/millibox of the same prefix and on `PATH`.
    #[must_use]
    pub fn executable(mut self, path: impl Into<PathBuf>) -> Builder {
        self.executable = Some(path.into());
        self
    }

    /// Sets how many runs are served at one time, from 1 to 512 ([`Builder::MOST_SLOTS`]). The
    /// default is one for each CPU.
    #[must_use]
    pub fn slots(mut self, slots: usize) -> Builder {
        self.slots = Some(slots);
        self
    }

    /// Sets the runners per slot, from 1 to 4. The default is 3: while one runner runs a program,
    /// the others are cleaned up and prepare the next target. A pair needs 2. One runner is enough
    /// for a supervisor that serves a single run.
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

    /// Sets the parent of the sandbox's cgroups: an absolute path in each hierarchy, as it is
    /// mounted here. The default is the value of the environment variable `MILLIBOX_CGROUP_PARENT`.
    /// If that is not set or empty, the supervisor chooses a place.
    #[must_use]
    pub fn cgroup_parent(mut self, path: impl Into<String>) -> Builder {
        self.cgroup_parent = Some(path.into());
        self
    }

    /// Sets the user and group that the supervisor switches to if this process is root. The default
    /// is an unused id. For other users only their own ids are valid; others make the start fail.
    #[must_use]
    pub fn user(mut self, uid: u32, gid: u32) -> Builder {
        self.user = Some((uid, gid));
        self
    }

    /// Keeps each slot on one CPU, with its runs that name no CPUs, so that run times vary less.
    /// Slots share a CPU only if there are more slots than CPUs.
    #[must_use]
    pub fn pin_slots(mut self, pin: bool) -> Builder {
        self.pin = pin;
        self
    }

    /// Keeps the supervisor and its runs on these CPUs, at least one, with numbers up to 1023. The
    /// default is all CPUs. A run that names CPUs of its own gets those.
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

    /// Starts the supervisor. It lives as long as this process and serves no other one, so start it
    /// after a fork(2), not before.
    ///
    /// # Errors
    /// The supervisor cannot be found or cannot start, or an option is not valid.
    pub fn start(self) -> Result<Supervisor, Error> {
        // An empty list from a caller that found no CPU must not mean all CPUs.
        if self.cpus.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::Start(
                "the list of CPUs is empty: name at least one CPU, or leave it out".to_owned(),
            ));
        }
        if let Some(cpu) = self.cpus.iter().flatten().find(|&&cpu| cpu >= MAX_CPUS) {
            return Err(Error::Start(format!(
                "Builder::cpus: CPU {cpu}: numbers end at {}",
                MAX_CPUS - 1
            )));
        }
        for (method, number, most) in [
            ("slots", self.slots, MAX_SLOTS),
            (
                "runners_per_slot",
                self.runners_per_slot,
                MAX_RUNNERS_PER_SLOT,
            ),
        ] {
            if let Some(number) = number.filter(|number| !(1..=most).contains(number)) {
                return Err(Error::Start(format!(
                    "Builder::{method}({number}): give a number from 1 to {most}"
                )));
            }
        }
        let (executable, named_by) = match (&self.executable, set(SUPERVISOR)) {
            (Some(path), _) => (path.clone(), Some("Builder::executable")),
            (None, Some(path)) => (PathBuf::from(path), Some(SUPERVISOR)),
            (None, None) => (find()?, None),
        };
        let not_executed = |path: &Path, error| Error::NotExecuted {
            path: path.to_owned(),
            named_by,
            error,
        };
        // The executable may be executed again later, from another directory.
        let executable =
            std::path::absolute(&executable).map_err(|error| not_executed(&executable, error))?;
        let (ours, its) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(Error::system("make a socket"))?;
        let mut command = Command::new(&executable);
        command
            .arg("--socket=0")
            .stdin(Stdio::from(its))
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command.current_dir("/").env_clear();
        // systemd-run needs these to find the user's manager.
        for name in ["PATH", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        if let Some(slots) = self.slots {
            command.arg(format!("--slots={slots}"));
        }
        if let Some(runners) = self.runners_per_slot {
            command.arg(format!("--runners={runners}"));
        }
        command.arg(match self.backend {
            BackendChoice::Auto => "--backend=auto",
            BackendChoice::Cgroup2 => "--backend=cgroup2",
            BackendChoice::Hybrid => "--backend=hybrid",
            BackendChoice::Rlimit => "--backend=rlimit",
        });
        let told = match std::env::var(CGROUP_PARENT) {
            _ if self.cgroup_parent.is_some() => None,
            Ok(parent) => Some(parent).filter(|parent| !parent.is_empty()),
            Err(std::env::VarError::NotPresent) => None,
            Err(error) => {
                return Err(Error::Start(format!(
                    "{CGROUP_PARENT}: {error}; name a cgroup by an absolute path"
                )));
            }
        };
        if let Some(parent) = told.as_ref().or(self.cgroup_parent.as_ref()) {
            command.arg(format!("--cgroup-parent={parent}"));
        }
        if let Some((uid, gid)) = self.user {
            command.arg(format!("--user={uid}:{gid}"));
        }
        if self.pin {
            command.arg("--pin");
        }
        if let Some(cpus) = &self.cpus {
            let numbers: Vec<String> = cpus.iter().map(usize::to_string).collect();
            command.arg(format!("--cpus={}", numbers.join(",")));
        }
        if self.separate_pid1 {
            command.arg("--pid1=separate");
        }
        let mut child = command
            .spawn()
            .map_err(|error| not_executed(&executable, error))?;
        // This closes our copy of the supervisor's end of the socket.
        drop(command);
        let stderr = child.stderr.take().map(OwnedFd::from);
        // The process id is valid only until the child is waited for, which the caller may do
        // (SIGCHLD ignored, or a handler that waits for all children). A pidfd stays valid.
        let pidfd = match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(errno) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(Error::system("watch the supervisor")(errno));
            }
        };
        let process = Process {
            pidfd,
            stderr,
            executable: executable.clone(),
            cgroups: Vec::new(),
            is_known: false,
        };
        let process = Arc::new(Mutex::new(process));
        let words = process.clone();
        let last_words = Box::new(move || {
            words
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner())
                .last_words()
        });
        let (connection, hello) = Connection::new(ours, last_words).map_err(|error| {
            // Its socket is closed, so it ends. Wait for it, or it would stay a zombie.
            let mut process = process
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            process.wait_for_end();
            match (error, &told) {
                (Error::Start(why), _) if !process.is_known => Error::NotSupervisor {
                    path: executable,
                    named_by,
                    why,
                },
                // The user set a variable and did not pass the option that the supervisor names.
                (Error::Start(words), Some(_)) if words.contains("--cgroup-parent=") => {
                    Error::Start(words.replace("--cgroup-parent=", &format!("{CGROUP_PARENT}=")))
                }
                (Error::Start(words), Some(parent)) if words.contains(parent) => {
                    Error::Start(format!("{words}; {CGROUP_PARENT} says {parent}"))
                }
                (Error::Start(words), _) if words.ends_with("(os error 24)") => {
                    Error::Start(words + crate::error::MORE_FILES)
                }
                (error, _) => error,
            }
        })?;
        process
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .cgroups = hello
            .cgroups
            .iter()
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect();
        let weak_backend =
            hello.backend == Backend::Rlimit && self.backend != BackendChoice::Rlimit;
        let pairs = self.runners_per_slot != Some(1);
        Ok(Supervisor {
            connection,
            hello,
            process,
            weak_backend,
            pairs,
        })
    }
}

/// The child process: the supervisor, or its keeper.
struct Process {
    pidfd: OwnedFd,
    stderr: Option<OwnedFd>,
    executable: PathBuf,
    cgroups: Vec<String>,
    /// Its last message came from a supervisor, or a signal killed it.
    is_known: bool,
}

impl Process {
    /// Reads its last message, once its socket is closed.
    fn last_words(&mut self) -> String {
        let mut text = String::new();
        if let Some(stderr) = self.stderr.take() {
            // The keeper closes it when it has removed the cgroups. Bound the wait.
            let mut file = std::fs::File::from(stderr);
            let deadline = Instant::now() + Duration::from_secs(6);
            let mut bytes = Vec::new();
            loop {
                let left = deadline.saturating_duration_since(Instant::now());
                let timeout = Timespec::try_from(left).unwrap_or(Timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                });
                match poll(&mut [PollFd::new(&file, PollFlags::IN)], Some(&timeout)) {
                    Ok(1) => {}
                    Err(Errno::INTR) => continue,
                    _ => break,
                }
                let mut chunk = [0; 4096];
                match file.read(&mut chunk) {
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => break,
                    Ok(read) => bytes.extend_from_slice(&chunk[..read]),
                }
            }
            text = String::from_utf8_lossy(&bytes).trim().to_owned();
        }
        let status = self.wait_for_end();
        if let Some(words) = text.strip_prefix("millibox: ") {
            // The `millibox` command begins its messages in the same way and may be taken for the
            // supervisor.
            self.is_known = !words.starts_with("unexpected argument '--socket'");
            return words.to_owned();
        }
        self.is_known = status.is_some_and(|status| status.terminating_signal().is_some());
        if !text.is_empty() {
            return text;
        }
        // Signal numbers are the same on all machines that the supervisor is built for.
        let refused = rustix::process::Signal::SYS.as_raw();
        match status {
            Some(status) => match status.terminating_signal() {
                Some(signal) if signal == refused => format!(
                    "killed by signal {signal}: it made a system call that it has no use for, so \
                     it has a bug or was taken over; the kernel's log names the call (type=1326)"
                ),
                Some(signal) => format!("killed by signal {signal}, without a message"),
                None => {
                    format!(
                        "it ended without a message (exit status {})",
                        status.exit_status().unwrap_or_default()
                    )
                }
            },
            None => "it closed its socket".to_owned(),
        }
    }

    /// Whether the child ends within this time.
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

    /// Waits for the child, and kills it after a while. Removes the cgroups that it left.
    fn wait_for_end(&mut self) -> Option<WaitIdStatus> {
        if !self.ends_within(Some(Duration::from_secs(6))) {
            let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
            self.ends_within(None);
        }
        // `None` if other code of this process has waited for it.
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
            let _ = Command::new(&self.executable)
                .args(arguments)
                .stderr(Stdio::null())
                .status();
        }
        status
    }
}

/// The environment variable with the path of the supervisor's executable.
const SUPERVISOR: &str = "MILLIBOX_SUPERVISOR";
/// The environment variable with the parent of the cgroups.
const CGROUP_PARENT: &str = "MILLIBOX_CGROUP_PARENT";

/// A running supervisor. Threads may share it by reference or [`Arc`].
///
/// Dropping it kills all runs, waits until they are gone and leaves nothing behind.
///
/// The kernel may refuse to pass descriptors on because this user has too many in transit (unix(7),
/// ETOOMANYREFS), or to open one that the library needs because this process has too many open
/// (EMFILE). The library then raises the soft limit on open files of this process to the hard
/// limit.
pub struct Supervisor {
    connection: Arc<Connection>,
    hello: Hello,
    process: Arc<Mutex<Process>>,
    weak_backend: bool,
    /// A slot has two or more runners.
    pairs: bool,
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

    /// Requests a run. Does not wait for it; many runs may be outstanding.
    ///
    /// # Errors
    /// The request is not valid, or the supervisor has ended.
    pub fn run(&self, request: &Request) -> Result<Handle, Error> {
        let [id] = self.connection.ids();
        let run = new_run(id, None, request)?;
        self.refuse_what_would_be_weaker(request)?;
        self.connection.run([run])?;
        Ok(Handle::new(self.connection.clone(), id, request.names()))
    }

    /// Requests two runs that need each other, such as a solution and an interactor: both start at
    /// the same time, or neither starts. They share a slot, so any number of pairs may be
    /// outstanding on any number of slots, beside other runs, and no pair waits for half of another
    /// one.
    ///
    /// If one run is rejected, killed or cancelled while it waits, the other one is not started
    /// either, and its result says so. After their start they are independent: if the program of
    /// one cannot be executed, the other run continues.
    ///
    /// # Errors
    /// A request is not valid, the supervisor has [one runner per slot](Builder::runners_per_slot),
    /// or it has ended. Neither run starts.
    pub fn run_pair(&self, requests: [&Request; 2]) -> Result<[Handle; 2], Error> {
        if !self.pairs {
            return Err(RequestError::PairNeedsTwoRunners.into());
        }
        let [first, second] = self.connection.ids();
        let runs = [
            new_run(first, Some(second), requests[0])?,
            new_run(second, Some(first), requests[1])?,
        ];
        requests
            .into_iter()
            .try_for_each(|request| self.refuse_what_would_be_weaker(request))?;
        self.connection.run(runs)?;
        let handle =
            |id, request: &Request| Handle::new(self.connection.clone(), id, request.names());
        Ok([handle(first, requests[0]), handle(second, requests[1])])
    }

    /// Rejects limits on a process tree where there are no cgroups, unless the caller chose the
    /// weaker backend by name.
    fn refuse_what_would_be_weaker(&self, request: &Request) -> Result<(), Error> {
        if !self.weak_backend {
            return Ok(());
        }
        let limits = request.limits();
        let requested = [
            ("CPU bandwidth", limits.cpu_bandwidth.is_some(), false),
            ("swap limit", limits.swap.is_some(), false),
            ("memory limit", limits.memory.is_some(), true),
            ("process limit", limits.processes.is_some(), true),
            ("CPU-time limit", limits.cpu_time_ns.is_some(), true),
        ];
        match requested.into_iter().find(|(_, requested, _)| *requested) {
            None => Ok(()),
            Some((limit, _, has_weaker_form)) => {
                let declined = self.hello.declined.clone();
                Err(RequestError::NeedsCgroup {
                    limit,
                    has_weaker_form,
                    declined,
                }
                .into())
            }
        }
    }

    /// The resource backend, which enforces and measures runs.
    pub fn backend(&self) -> Backend {
        self.hello.backend
    }

    /// The reason why each better backend was not taken.
    pub fn declined(&self) -> &[String] {
        &self.hello.declined
    }

    /// The number of runs that are served at one time.
    pub fn slots(&self) -> usize {
        self.hello.slots as usize
    }

    /// The number of requested runs whose results have not arrived and whose handles exist.
    ///
    /// Results arrive when a thread waits for one or polls one. Until then, runs that have ended
    /// count.
    pub fn unfinished(&self) -> usize {
        self.connection.unfinished()
    }

    /// The version of landlock(7) that confines the supervisor. `None` if the kernel has no
    /// landlock.
    pub fn landlock(&self) -> Option<u32> {
        (self.hello.landlock != 0).then_some(self.hello.landlock)
    }

    /// Whether the supervisor counts file locks (fcntl(2), flock(2)), whose memory the kernel
    /// charges to no cgroup. If it does, a run with a memory limit ends by it with more than 1,024
    /// locks. It does not if /proc hides them (`subset=pid`, `hidepid`; proc(5)).
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

    /// Ends the supervisor: kills all runs and waits until they are gone. Dropping it does the
    /// same.
    pub fn shut_down(self) {}

    /// Tells the supervisor to end, without waiting; any thread may call this. Its runs are killed,
    /// and threads that wait for them get [`Error::Died`].
    pub fn close(&self) {
        self.connection.close();
    }

    /// Whether the supervisor is known to have ended, or was asked to end. If it was killed, that
    /// is known after the next request.
    pub fn is_dead(&self) -> bool {
        self.connection.is_dead()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if self.connection.is_elsewhere() {
            return;
        }
        self.connection.close();
        self.process
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .wait_for_end();
    }
}

impl std::fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Supervisor")
            .field("pid", &self.hello.pid)
            .field("backend", &self.hello.backend)
            .finish()
    }
}

/// The value of an environment variable. An empty one counts as not set.
fn set(variable: &str) -> Option<OsString> {
    std::env::var_os(variable).filter(|value| !value.is_empty())
}

/// Looks up the supervisor's executable beside the running program (a cargo test is one directory
/// deeper), in the libexec directory of the same prefix, and on `PATH`.
fn find() -> Result<PathBuf, Error> {
    let mut places = Vec::new();
    if let Ok(program) = std::env::current_exe()
        && let Some(directory) = program.parent()
    {
        places.push(directory.join(EXECUTABLE));
        if let Some(above) = directory.parent() {
            if directory.ends_with("deps") || directory.ends_with("examples") {
                places.push(above.join(EXECUTABLE));
            }
            places.push(above.join("libexec/millibox").join(EXECUTABLE));
        }
    }
    for directory in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        places.push(directory.join(EXECUTABLE));
    }
    let mut seen = HashSet::new();
    places.retain(|place| seen.insert(place.clone()));
    places
        .iter()
        .find(|path| path.exists())
        .cloned()
        .ok_or(Error::NoSupervisor(places))
}

fn new_run(id: u64, partner: Option<u64>, request: &Request) -> Result<NewRun, Error> {
    let (body, descriptors) = request.encode(partner)?;
    Ok(NewRun {
        id,
        partner,
        body,
        descriptors,
        output_limited: request.has_output_limit(),
    })
}

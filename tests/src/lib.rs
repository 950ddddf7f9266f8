//! Helpers of the sandbox's tests.
//!
//! * [`builder`], [`supervisor`]: a sandbox with the best backend of this machine;
//! * [`request`]: a request to run the [`probe`], by descriptor, in the minimal world;
//! * [`run`]: runs a request and returns its [`Output`];
//! * [`not_started`], [`sandbox_error`]: the error of a result, which tests compare by its fields;
//! * [`needs_cgroups`], [`skip`]: report a test that cannot run here. They write `SKIPPED: ...` to
//!   standard error, and a line to the file that `MILLIBOX_SKIPS` names;
//! * [`eventually`], [`descendants`], [`Gone`]: check that no process or cgroup is left.
//!
//! The tests need no privileges. Started by root, the sandbox runs as another user, so tests set
//! the permissions of bound files ([`directory`]).

use millibox::{
    Backend, BackendChoice, Builder, Handle, Outcome, Request, RunError, RunResult, Supervisor,
    World,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A timeout so long that only a hang exceeds it, even on a slow and busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A builder for a supervisor with two slots and the best available backend.
pub fn builder() -> Builder {
    Supervisor::builder().backend(BackendChoice::Auto).slots(2)
}

/// A supervisor with the best available backend.
pub fn supervisor() -> Supervisor {
    start(builder())
}

/// Starts a supervisor. Panics with the error if it cannot.
pub fn start(builder: Builder) -> Supervisor {
    builder.start().unwrap_or_else(|error| panic!("{error}"))
}

/// Returns whether the backend uses cgroups. If not, reports the test as skipped; the caller must
/// return.
pub fn needs_cgroups(supervisor: &Supervisor) -> bool {
    let there = supervisor.info().backend() != Backend::Rlimit;
    if !there {
        skip(&format!(
            "no cgroups are available: {}",
            supervisor.info().declined().join("; ")
        ));
    }
    there
}

/// Reports that the current test cannot run here.
pub fn skip(reason: &str) {
    skip_named(std::thread::current().name().unwrap_or("a test"), reason);
}

/// Like [`skip`], for a test that does not run in a thread of its name.
pub fn skip_named(test: &str, reason: &str) {
    let reason = reason.trim().replace('\n', "; ");
    eprintln!("SKIPPED: {test}: {reason}");
    if let Some(path) = std::env::var_os("MILLIBOX_SKIPS")
        && let Ok(mut file) = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
    {
        let _ = writeln!(file, "{test}: {reason}");
    }
}

/// Returns whether the effective user is root, possibly of a user namespace.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns whether this process may raise hard limits: CAP_SYS_RESOURCE, number 24.
pub fn may_raise_limits() -> bool {
    mask("self", "CapEff").is_some_and(|set| set & 1 << 24 != 0)
}

/// Reads a hexadecimal mask from /proc/PID/status. `process` is a PID or `self`.
pub fn mask(process: &str, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// The path of an executable of this package or of the supervisor, beside the test executable.
pub fn executable(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap_or_default();
    let beside = test.parent().unwrap_or(Path::new("/"));
    let above = if beside.ends_with("deps") {
        beside.parent().unwrap_or(beside)
    } else {
        beside
    };
    match (name, std::env::var_os("MILLIBOX_SUPERVISOR")) {
        ("millibox-supervisor", Some(path)) => path.into(),
        _ => above.join(name),
    }
}

/// A descriptor of the probe, so that the world need not contain it.
pub fn probe() -> Arc<OwnedFd> {
    open(&executable("probe"))
}

/// Opens a file for reading.
pub fn open(path: &Path) -> Arc<OwnedFd> {
    let file =
        std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Arc::new(OwnedFd::from(file))
}

/// A request to run the probe with these arguments in the minimal world.
pub fn request<S: Into<OsString>>(arguments: impl IntoIterator<Item = S>) -> Request {
    Request::from_descriptor(probe())
        .arg("probe")
        .args(arguments)
}

/// The minimal world with a procfs.
pub fn world_with_proc() -> World {
    World::minimal().mount(millibox::Mount::proc("/proc"))
}

/// The result and standard output of a run.
#[derive(Debug)]
pub struct Output {
    /// The result.
    pub result: RunResult,
    /// Standard output.
    pub stdout: Vec<u8>,
}

impl Output {
    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The value of the output line `key=value`. Panics if the line is missing.
    pub fn value(&self, key: &str) -> String {
        let text = self.text();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("no {key}= in {text:?} ({})", self.result))
            .to_owned()
    }

    /// The value of the output line `key=value` as a number.
    pub fn number(&self, key: &str) -> i64 {
        let value = self.value(key);
        value
            .parse()
            .unwrap_or_else(|_| panic!("{key}={value} is not a number"))
    }

    /// All output lines `key=value`.
    pub fn values(&self) -> BTreeMap<String, String> {
        let split = |line: &str| {
            line.split_once('=')
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
        };
        self.text().lines().filter_map(split).collect()
    }
}

/// Creates a pipe and returns its reading end and its writing end.
pub fn pipe() -> (OwnedFd, Arc<OwnedFd>) {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).expect("a pipe");
    (read, Arc::new(write))
}

/// Runs a request to its end and reads its standard output.
pub fn run(supervisor: &Supervisor, request: &Request) -> Output {
    let (read, write) = pipe();
    let request = request.clone().stdout(write);
    let handle = supervisor
        .run(&request)
        .unwrap_or_else(|error| panic!("{error}"));
    drop(request);
    let reader = std::thread::spawn(move || read_all(read));
    let result = wait(&handle);
    Output {
        result,
        stdout: reader.join().expect("the reader"),
    }
}

/// Runs the probe, which must exit with status 0.
pub fn probe_run(supervisor: &Supervisor, arguments: &[&str]) -> Output {
    let output = run(supervisor, &request(arguments));
    assert_eq!(
        output.result.outcome,
        millibox::Outcome::Exited(0),
        "{arguments:?}: {}: {}",
        output.result,
        output.text()
    );
    output
}

/// Runs a request to its end, without redirecting its output.
pub fn result(supervisor: &Supervisor, request: &Request) -> RunResult {
    wait(
        &supervisor
            .run(request)
            .unwrap_or_else(|error| panic!("{error}")),
    )
}

/// The error of a run that was not started.
pub fn not_started(result: &RunResult) -> &RunError {
    let Outcome::NotStarted(error) = &result.outcome else {
        panic!("{result}")
    };
    error
}

/// The error of a run in which the sandbox failed.
pub fn sandbox_error(result: &RunResult) -> &RunError {
    let Outcome::SandboxError(error) = &result.outcome else {
        panic!("{result}")
    };
    error
}

/// Waits for a result, but not for ever.
pub fn wait(handle: &Handle) -> RunResult {
    match handle.wait_timeout(PATIENCE) {
        Ok(Some(result)) => {
            assert_consistent(&result);
            result
        }
        Ok(None) => panic!("no result after {PATIENCE:?}"),
        Err(error) => panic!("{error}"),
    }
}

/// Asserts the properties of every result.
fn assert_consistent(result: &RunResult) {
    let figures = &result.figures;
    match &result.outcome {
        Outcome::Exited(code) => {
            assert_eq!(
                (result.exit_code, result.signal),
                (Some(*code), None),
                "{result:?}"
            );
            assert!(
                result.ended_ns.is_some() && figures.real_time_ns > 0,
                "{result:?}"
            );
        }
        Outcome::Signaled(signal) => {
            assert_eq!(
                (result.exit_code, result.signal),
                (None, Some(*signal)),
                "{result:?}"
            );
            assert!(
                result.ended_ns.is_some() && figures.real_time_ns > 0,
                "{result:?}"
            );
        }
        Outcome::Killed => assert_eq!(
            (result.exit_code, result.signal),
            (None, Some(libc::SIGKILL)),
            "{result:?}"
        ),
        Outcome::NotStarted(error) => {
            assert!(!error.step.is_sandbox_failure(), "{result:?}");
            assert_eq!(
                (result.exit_code, result.signal),
                (None, None),
                "{result:?}"
            );
            assert_eq!(figures, &millibox::Figures::default(), "{result:?}");
        }
        Outcome::SandboxError(_) => {}
        _ => assert!(
            figures.real_time_ns > 0 || result.exit_code.is_none(),
            "{result:?}"
        ),
    }
    // The bound is the time of all CPUs, plus a margin. Processes that outlive the first one use
    // CPU time until pid1 ends them, and they may delay pid1.
    let cpus = std::thread::available_parallelism()
        .map_or(1, |cpus| cpus.get() as u64)
        .max(2);
    assert!(
        figures.cpu_user_ns + figures.cpu_system_ns <= figures.real_time_ns * cpus + 1_000_000_000,
        "more CPU time than the CPUs can provide: {result:?}"
    );
}

/// Reads to the end of file. Panics if no data arrives for [`PATIENCE`].
pub fn read_all(from: impl AsFd) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 1 << 16];
    loop {
        assert!(
            readable(&from, PATIENCE),
            "no end of file after {PATIENCE:?}, but {:?}",
            String::from_utf8_lossy(&bytes)
        );
        match rustix::io::read(&from, &mut chunk) {
            Ok(0) => return bytes,
            Ok(length) => bytes.extend_from_slice(&chunk[..length]),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => panic!("{errno}"),
        }
    }
}

/// Reads one line. Panics if no data arrives for [`PATIENCE`].
pub fn read_line(from: impl AsFd) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        assert!(readable(&from, PATIENCE), "no line after {PATIENCE:?}");
        match rustix::io::read(&from, &mut byte) {
            Ok(0) => panic!(
                "end of file within a line: {:?}",
                String::from_utf8_lossy(&line)
            ),
            Ok(_) if byte == *b"\n" => return String::from_utf8_lossy(&line).into_owned(),
            Ok(_) => line.push(byte[0]),
            Err(errno) => panic!("{errno}"),
        }
    }
}

/// Returns whether data or the end of file arrives within `time`.
pub fn readable(from: impl AsFd, time: Duration) -> bool {
    let mut ready = [rustix::event::PollFd::new(
        &from,
        rustix::event::PollFlags::IN,
    )];
    let time = rustix::event::Timespec::try_from(time).expect("a time");
    rustix::event::poll(&mut ready, Some(&time)) == Ok(1)
}

/// Starts a probe that sleeps, and waits until it is running.
pub fn sleeper(supervisor: &Supervisor, more: &[&str]) -> (Handle, OwnedFd) {
    let (read, write) = pipe();
    let request = request(["ready-sleep", "100000"])
        .args(more.iter().copied())
        .stdout(write);
    let handle = supervisor
        .run(&request)
        .unwrap_or_else(|error| panic!("{error}"));
    drop(request);
    assert_eq!(read_line(&read), "ready");
    (handle, read)
}

/// A temporary directory that every user may read and write.
pub fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    share(directory.path(), 0o777);
    directory
}

/// Sets the mode of a file.
pub fn share(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("chmod");
}

/// Copies the probe into a directory that a world can bind.
pub fn copy_probe(directory: &Path) -> PathBuf {
    let copy = directory.join("probe");
    std::fs::copy(executable("probe"), &copy).expect("a copy of the probe");
    share(&copy, 0o755);
    copy
}

/// Waits until `holds` returns true. Returns false if it does not within `time`.
pub fn eventually(time: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while !holds() {
        if begin.elapsed() > time {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// The exit status of a child that ends within `time`. Otherwise kills the child.
pub fn ends_within(child: &mut Child, time: Duration) -> Option<ExitStatus> {
    let mut ended = None;
    eventually(time, || {
        ended = child.try_wait().unwrap();
        ended.is_some()
    });
    if ended.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    ended
}

/// A process. Its start time distinguishes it from a later process with the same PID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    /// The process id.
    pub pid: i32,
    /// The parent's process id.
    pub parent: i32,
    started: u64,
}

impl Process {
    /// Returns whether the process is alive. Its parent may have changed if the old one died.
    pub fn is_there(&self) -> bool {
        process(self.pid).is_some_and(|now| now.started == self.started)
    }
}

/// All processes that are not zombies.
pub fn processes() -> Vec<Process> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        all.extend(process(pid));
    }
    all
}

/// The process with this PID, unless it is a zombie.
pub fn process(pid: i32) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the last ')': state is field 3, ppid 4, starttime 22 (proc_pid_stat(5)).
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    if matches!(fields.first(), Some(&"Z" | &"X")) {
        return None;
    }
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

/// The name of a process (proc_pid_comm(5)).
pub fn name(pid: i32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm"))
        .unwrap_or_default()
        .trim_end()
        .to_owned()
}

/// The name of the spawner process, a child of the supervisor like the runners.
pub const SPAWNER: &str = "millibox-nurse";

/// A process and all its descendants.
pub fn descendants(root: u32) -> Vec<Process> {
    let all = processes();
    let mut family: Vec<Process> = all
        .iter()
        .copied()
        .filter(|process| process.pid == root as i32)
        .collect();
    let mut at = 0;
    while at < family.len() {
        let parent = family[at].pid;
        family.extend(
            all.iter()
                .filter(|process| process.parent == parent)
                .copied(),
        );
        at += 1;
    }
    family
}

/// The processes with this command line argument.
pub fn processes_that_say(text: &str) -> Vec<Process> {
    let says = |process: &Process| {
        let line = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|argument| argument == text.as_bytes())
    };
    processes().into_iter().filter(says).collect()
}

/// A text that no other process has as an argument.
pub fn token() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "token-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// The processes and cgroups of a supervisor, which must disappear with it.
#[derive(Debug)]
pub struct Gone {
    processes: BTreeSet<Process>,
    cgroups: Vec<PathBuf>,
}

impl Gone {
    /// The current processes and cgroups of a supervisor.
    pub fn of(supervisor: &Supervisor) -> Gone {
        Gone::new(
            supervisor.info().pid(),
            supervisor.info().cgroups().collect(),
        )
    }

    /// The current processes of the supervisor with this PID, and these cgroups.
    pub fn new(supervisor: u32, cgroups: Vec<PathBuf>) -> Gone {
        let mut processes: BTreeSet<Process> = descendants(supervisor).into_iter().collect();
        assert!(!processes.is_empty(), "the supervisor is not running");
        // With cgroups, the parent is the keeper, unless it is this process.
        if !cgroups.is_empty() {
            processes.extend(
                process(supervisor as i32)
                    .and_then(|its| process(its.parent))
                    .filter(|keeper| keeper.pid != std::process::id() as i32),
            );
        }
        Gone { processes, cgroups }
    }

    /// Describes the remaining processes and cgroups; empty if none remain.
    pub fn left(&self) -> String {
        let processes: Vec<i32> = self
            .processes
            .iter()
            .filter(|process| process.is_there())
            .map(|process| process.pid)
            .collect();
        let cgroups: Vec<&PathBuf> = self.cgroups.iter().filter(|path| path.exists()).collect();
        if processes.is_empty() && cgroups.is_empty() {
            String::new()
        } else {
            format!("processes {processes:?}, cgroups {cgroups:?}")
        }
    }

    /// Asserts that all of them disappear within five seconds.
    pub fn assert(&self) {
        eventually(Duration::from_secs(5), || self.left().is_empty());
        assert_eq!(self.left(), "", "remaining after five seconds");
    }
}

/// Sends a signal.
pub fn kill(pid: i32, signal: rustix::process::Signal) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// A small random number generator, whose seed is printed so that a test can be repeated.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// A generator with the seed in `MILLIBOX_SEED`, or a seed from the clock.
    pub fn new() -> Random {
        let given = std::env::var("MILLIBOX_SEED")
            .ok()
            .and_then(|text| text.parse().ok());
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(1, |time| time.as_nanos() as u64);
        let seed = given.unwrap_or(now) | 1;
        eprintln!("MILLIBOX_SEED={seed}");
        Random(seed)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        // xorshift64
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

impl Default for Random {
    fn default() -> Random {
        Random::new()
    }
}

/// Runs the `client` executable and returns its output.
pub fn client<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Said {
    let output = std::process::Command::new(executable("client"))
        .args(arguments)
        .output()
        .expect("the client");
    Said {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The output of a helper process.
#[derive(Debug)]
pub struct Said {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Said {
    /// The value of the output line `key=value`. Panics if the line is missing.
    pub fn value(&self, key: &str) -> String {
        let line = self
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("no {key}= in {self:?}"))
            .to_owned()
    }
}

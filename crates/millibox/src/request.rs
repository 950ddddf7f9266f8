//! The request of one run.

use crate::capture::sealed_file;
use crate::{Error, Prepared, RequestError, World};
use millibox_wire::frame::MAX_BODY;
use millibox_wire::path::shown;
use millibox_wire::{
    Bandwidth, Descriptors, Hint, Limits, MAX_CPUS, Outcome, Run, RunResult, Step, rlimit_number,
};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

/// The program to execute.
///
/// ```
/// use millibox::{Program, Request};
///
/// let directories = vec!["/usr/bin".into(), "/bin".into()];
/// let request = Request::of(Program::Search("true".into(), directories)).arg("true");
/// assert_eq!(request.check(), Ok(()));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Program {
    /// A path inside the world.
    Path(OsString),
    /// A name without `/`, looked up in these directories of the world as execvp(3) does.
    Search(OsString, Vec<OsString>),
    /// An open file, for example a memfd, whether or not the world contains it.
    Descriptor(Arc<OwnedFd>),
}

/// What errors call a run's program and working directory. The supervisor forgets the paths with
/// the run, and a descriptor has no name.
#[derive(Debug)]
pub(crate) struct Names {
    program: Option<OsString>,
    /// The program is a path without `/`, which the caller may have meant to be looked up.
    is_bare_name: bool,
    working_directory: OsString,
}

impl Names {
    /// Names the program that could not be executed, or the directory that could not be entered.
    pub fn add_to(&self, mut result: RunResult) -> RunResult {
        let Outcome::NotStarted(error) = &mut result.outcome else {
            return result;
        };
        let subject = match error.step {
            Step::WorkingDirectory => Some(&self.working_directory),
            Step::Exec => self.program.as_ref(),
            _ => None,
        };
        if let Some(subject) = subject {
            error.subject = Some(shown(subject.as_bytes()));
        }
        if error.step == Step::Exec && error.errno == Some(libc::ENOENT) && self.is_bare_name {
            error.hint.get_or_insert(Hint::NameTakenAsPath);
        }
        result
    }
}

/// A program with its arguments, descriptors and limits. A request is cheap to build for every run,
/// and can be used again.
///
/// By default argv has only the program's path, the environment is empty, the working directory is
/// `/`, the standard streams are /dev/null, the world is the [minimal](World::minimal) one, and the
/// only limit is [`Request::DEFAULT_PROCESS_LIMIT`].
///
/// Methods accept wrong values. The first mistake is reported when the run is requested.
///
/// ```
/// use millibox::Request;
/// use std::time::Duration;
///
/// let request = Request::new("/bin/sh")
///     .args(["-c", "exit 3"])
///     .env("LC_ALL", "C")
///     .memory_limit(64 << 20)
///     .real_time_limit(Duration::from_secs(1));
/// assert_eq!(request.check(), Ok(()));
/// ```
#[derive(Debug, Clone)]
pub struct Request {
    program: Program,
    arguments: Vec<OsString>,
    /// `NAME=VALUE`, each with the length of its name.
    environment: Vec<(usize, OsString)>,
    working_directory: OsString,
    streams: [Option<Arc<OwnedFd>>; 3],
    world: World,
    limits: Limits,
    rlimits: Vec<(u8, u64)>,
    cpus: Vec<u64>,
    output_limit: Option<u64>,
    may_start_cold: bool,
    /// The first mistake of the caller, reported when the run is requested.
    mistake: Option<RequestError>,
}

impl Request {
    /// The process limit of a run that names none. It stops fork bombs and leaves room for the
    /// thread pools of language runtimes. For more, call [`Request::process_limit`].
    pub const DEFAULT_PROCESS_LIMIT: u32 = millibox_wire::DEFAULT_PROCESS_LIMIT;

    /// The largest process limit that the kernel can enforce.
    pub const MAX_PROCESS_LIMIT: u32 = millibox_wire::MAX_PROCESS_LIMIT;

    /// A run of the program at `path` inside the world.
    pub fn new(path: impl Into<OsString>) -> Request {
        let path = path.into();
        Request::of(Program::Path(path.clone())).arg(path)
    }

    /// A run of an open ELF executable. Scripts cannot be executed this way. The argv is empty
    /// until arguments are added; the first one is `argv[0]`.
    pub fn from_descriptor(program: impl Into<Arc<OwnedFd>>) -> Request {
        Request::of(Program::Descriptor(program.into()))
    }

    /// A run of a program. The argv is empty until arguments are added; the first one is `argv[0]`.
    pub fn of(program: Program) -> Request {
        Request {
            program,
            arguments: Vec::new(),
            environment: Vec::new(),
            working_directory: "/".into(),
            streams: [None, None, None],
            world: World::minimal(),
            limits: Limits::default(),
            rlimits: Vec::new(),
            cpus: Vec::new(),
            output_limit: None,
            may_start_cold: false,
            mistake: None,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Request {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = S>) -> Request {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Replaces all arguments, `argv[0]` included.
    #[must_use]
    pub fn argv<S: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = S>) -> Request {
        self.arguments = arguments.into_iter().map(Into::into).collect();
        self
    }

    /// Sets a variable of the environment, which is empty by default. A name that is empty or
    /// contains `=` or a NUL byte is an error when the run is requested.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Request {
        let mut variable = name.as_ref().to_owned();
        let length = variable.len();
        self.environment
            .retain(|(known, text)| text.as_bytes()[..*known] != *variable.as_bytes());
        variable.push("=");
        variable.push(value);
        self.environment.push((length, variable));
        self
    }

    /// Sets the working directory inside the world. The default is `/`.
    #[must_use]
    pub fn current_dir(mut self, directory: impl Into<OsString>) -> Request {
        self.working_directory = directory.into();
        self
    }

    /// Sets standard input. The default is /dev/null.
    ///
    /// With an `Arc`, many runs can use one descriptor. They share the position of a file
    /// (open(2)), so open a file anew for each run. Do not keep a copy of a pipe's end: while a
    /// request holds one, the pipe stays open.
    #[must_use]
    pub fn stdin(mut self, descriptor: impl Into<Arc<OwnedFd>>) -> Request {
        self.streams[0] = Some(descriptor.into());
        self
    }

    /// Sets the bytes that the program reads from standard input: a file in memory, positioned at
    /// its beginning. The position is shared by all runs of this request, so build a new request
    /// for each run. If the file cannot be created, that is an error when the run is requested.
    #[must_use]
    pub fn input(mut self, bytes: impl AsRef<[u8]>) -> Request {
        match sealed_file(bytes.as_ref()) {
            Ok(file) => self.streams[0] = Some(file),
            Err(error) => self.has_mistake(RequestError::Input(error.raw_os_error().unwrap_or(0))),
        }
        self
    }

    /// Sets standard output. The default is /dev/null. The reader of a pipe sees its end once the
    /// run is over and the request is dropped, which holds an end as well.
    #[must_use]
    pub fn stdout(mut self, descriptor: impl Into<Arc<OwnedFd>>) -> Request {
        self.streams[1] = Some(descriptor.into());
        self
    }

    /// Sets standard error; see [`Request::stdout`].
    #[must_use]
    pub fn stderr(mut self, descriptor: impl Into<Arc<OwnedFd>>) -> Request {
        self.streams[2] = Some(descriptor.into());
        self
    }

    /// Sets what the program sees. The default is [`World::minimal`].
    #[must_use]
    pub fn world(mut self, world: &World) -> Request {
        self.world = world.clone();
        self
    }

    /// Makes the run a copy of a prepared program, in the world of that program. The copy receives
    /// this request's arguments and environment, at most 64 KiB. The path of this request's program
    /// is used only if the run may start cold; see [`Request::may_start_cold`].
    ///
    /// ```no_run
    /// use millibox::{Prepare, Request, Start, Supervisor, World};
    ///
    /// let supervisor = Supervisor::start()?;
    /// let python = World::minimal().prepare(&Prepare::python("/usr/bin/python3", ["json"]))?;
    /// let request = Request::new("/usr/bin/python3").args(["-c", "print(6 * 7)"]).prepared(&python);
    /// let output = supervisor.output(&request, b"", 1 << 20)?;
    /// assert!(matches!(output.result.start, Start::Prepared { .. }));
    /// # Ok::<(), millibox::Error>(())
    /// ```
    #[must_use]
    pub fn prepared(mut self, program: &Prepared) -> Request {
        self.world = program.world().clone();
        self
    }

    /// Allows the supervisor to execute the program if no copy of the prepared program can be made.
    /// [`RunResult::start`] has the reason. By default the run then ends with
    /// [`Outcome::NotStarted`].
    #[must_use]
    pub fn may_start_cold(mut self, allowed: bool) -> Request {
        self.may_start_cold = allowed;
        self
    }

    /// Limits processes and threads at one time, including the program itself, to 1 up to
    /// [`Request::MAX_PROCESS_LIMIT`]. A run without a limit of its own gets
    /// [`Request::DEFAULT_PROCESS_LIMIT`].
    #[must_use]
    pub fn process_limit(mut self, processes: u32) -> Request {
        self.limits.processes = Some(processes);
        self
    }

    /// Limits the memory of the whole process tree in bytes, including kernel memory, tmpfs and
    /// page cache. The run gets no swap unless [`Request::swap_limit`] allows some.
    ///
    /// Without cgroups (backend `rlimit`) the limit applies to the address space of each process.
    /// At the limit the kernel refuses memory, and the program reacts in its own way; the outcome
    /// is not [`Outcome::MemoryLimit`].
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Request {
        self.limits.memory = Some(bytes);
        self
    }

    /// Limits the swap of the whole process tree in bytes, on top of the memory limit, which is
    /// required.
    #[must_use]
    pub fn swap_limit(mut self, bytes: u64) -> Request {
        self.limits.swap = Some(bytes);
        self
    }

    /// Limits CPU time to `max` (at least 1 ms) in every `period` (1 ms to 1 s), on all CPUs
    /// together. The run is slowed down, not ended.
    #[must_use]
    pub fn cpu_bandwidth(mut self, max: Duration, period: Duration) -> Request {
        let micros = |time: Duration| time.as_micros().min(u128::from(u64::MAX)) as u64;
        self.limits.cpu_bandwidth = Some(Bandwidth {
            max_us: micros(max),
            period_us: micros(period),
        });
        self
    }

    /// Limits the time from just before the exec to the end of the first process.
    #[must_use]
    pub fn real_time_limit(mut self, limit: Duration) -> Request {
        self.limits.real_time_ns = Some(nanos(limit));
        self
    }

    /// Limits user and system CPU time of the whole process tree.
    #[must_use]
    pub fn cpu_time_limit(mut self, limit: Duration) -> Request {
        self.limits.cpu_time_ns = Some(nanos(limit));
        self
    }

    /// Sets the soft and hard limit of a resource (setrlimit(2)) by its name, for example
    /// `"NOFILE"`. An unknown name is an error when the run is requested.
    ///
    /// `"CORE"` is 1 by default, and 0 is taken for 1: no core is written, and the kernel does not
    /// start the host's core handler, as it would with 0 (core(5)).
    #[must_use]
    pub fn rlimit(mut self, name: &str, value: u64) -> Request {
        match rlimit_number(name) {
            Some(number) => {
                self.rlimits.retain(|(known, _)| *known != number);
                self.rlimits.push((number, value));
            }
            None => self.has_mistake(RequestError::UnknownRlimit(name.to_owned())),
        }
        self
    }

    /// Sets the CPUs that the run may use, by number. An empty list, or a number above 1023, is an
    /// error when the run is requested.
    ///
    /// The program cannot choose other CPUs as long as its seccomp program refuses
    /// sched_setaffinity(2), as the built-in profiles do.
    #[must_use]
    pub fn cpus(mut self, cpus: impl IntoIterator<Item = usize>) -> Request {
        let mut mask = Vec::new();
        for cpu in cpus {
            if cpu >= MAX_CPUS {
                self.has_mistake(RequestError::CpuNumber(cpu));
                continue;
            }
            if mask.len() <= cpu / 64 {
                mask.resize(cpu / 64 + 1, 0u64);
            }
            mask[cpu / 64] |= 1 << (cpu % 64);
        }
        if mask.is_empty() {
            self.has_mistake(RequestError::NoCpus);
        }
        self.cpus = mask;
        self
    }

    /// Records a mistake of the caller; the first one is reported when the run is requested.
    fn has_mistake(&mut self, mistake: RequestError) {
        self.mistake.get_or_insert(mistake);
    }

    /// Limits the bytes that the run may write to any one file (`RLIMIT_FSIZE`).
    ///
    /// If the first process exceeds the limit and SIGXFSZ ends it, the outcome is
    /// [`Outcome::OutputLimit`]. A program that ignores the signal, as Python does, gets EFBIG and
    /// continues. The limit does not apply to pipes:
    /// [`Supervisor::output`](crate::Supervisor::output) and [`move_output`](crate::move_output)
    /// count their bytes.
    #[must_use]
    pub fn output_limit(mut self, bytes: u64) -> Request {
        self.output_limit = Some(bytes);
        self
    }

    pub(crate) fn names(&self) -> Names {
        let program = match &self.program {
            Program::Path(path) => Some(path.clone()),
            Program::Search(name, directories) => {
                let mut text = name.clone();
                text.push(" (looked up in ");
                for (index, directory) in directories.iter().enumerate() {
                    text.push(if index > 0 { ":" } else { "" });
                    text.push(directory);
                }
                text.push(")");
                Some(text)
            }
            Program::Descriptor(_) => None,
        };
        let is_bare_name =
            matches!(&self.program, Program::Path(path) if !path.as_bytes().contains(&b'/'));
        Names {
            program,
            is_bare_name,
            working_directory: self.working_directory.clone(),
        }
    }

    pub(crate) fn has_output_limit(&self) -> bool {
        self.output_limit.is_some()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Checks what can be checked without a supervisor. Requesting a run does the same.
    ///
    /// ```
    /// use millibox::{Request, RequestError};
    /// let request = Request::new("/bin/true").rlimit("BOGUS", 1);
    /// assert_eq!(request.check(), Err(RequestError::UnknownRlimit("BOGUS".to_owned())));
    /// ```
    ///
    /// # Errors
    /// The first mistake that was found.
    pub fn check(&self) -> Result<(), RequestError> {
        if let Some(mistake) = &self.mistake {
            return Err(mistake.clone());
        }
        let paths = self.program_paths()?;
        // An empty argv lets the program read its environment as arguments (CVE-2021-4034).
        if !paths.is_empty() && self.arguments.first().is_none_or(|first| first.is_empty()) {
            return Err(RequestError::NoArgv0);
        }
        self.limits.check().map_err(RequestError::Limit)?;
        if let Program::Descriptor(program) = &self.program {
            let mut beginning = [0; 2];
            if rustix::io::pread(program, &mut beginning, 0) == Ok(2) && beginning == *b"#!" {
                return Err(RequestError::ScriptByDescriptor);
            }
        }
        self.check_environment()
    }

    /// Checks and encodes the request. The descriptors travel beside it.
    pub(crate) fn encode(
        &self,
        partner: Option<u64>,
    ) -> Result<(Vec<u8>, Vec<Arc<OwnedFd>>), Error> {
        self.check()?;
        let paths = self.program_paths()?;
        let mut strings = Vec::new();
        let variables = self.environment.iter().map(|(_, variable)| variable);
        let all = std::iter::once(&self.working_directory)
            .chain(&paths)
            .chain(&self.arguments)
            .chain(variables);
        for string in all {
            if string.as_bytes().contains(&0) {
                return Err(RequestError::HasNul(string.clone()).into());
            }
            strings.extend_from_slice(string.as_bytes());
            strings.push(0);
        }
        let mut rlimits = self.rlimits.clone();
        if let (Some(limit), Some(number)) = (self.output_limit, rlimit_number("FSIZE")) {
            match rlimits.iter_mut().find(|(known, _)| *known == number) {
                Some((_, other)) => *other = limit.min(*other),
                None => rlimits.push((number, limit)),
            }
        }
        let [stdin, stdout, stderr] = &self.streams;
        let mut descriptors: Vec<Arc<OwnedFd>> = self.streams.iter().flatten().cloned().collect();
        if let Program::Descriptor(program) = &self.program {
            descriptors.push(program.clone());
        }
        let world = self.world.located()?;
        let run = Run {
            world: &world,
            strings: &strings,
            paths: paths.len() as u32,
            arguments: self.arguments.len() as u32,
            environment: self.environment.len() as u32,
            descriptors: Descriptors {
                stdin: stdin.is_some(),
                stdout: stdout.is_some(),
                stderr: stderr.is_some(),
                program: paths.is_empty(),
            },
            limits: self.limits,
            rlimits,
            cpus: self.cpus.clone(),
            partner,
            may_start_cold: self.may_start_cold,
        };
        let body = millibox_wire::encode(&run);
        if body.len() > MAX_BODY {
            return Err(RequestError::TooLong {
                bytes: body.len(),
                max_bytes: MAX_BODY,
            }
            .into());
        }
        Ok((body, descriptors))
    }

    /// The paths that are tried in order; none if the program is a descriptor.
    fn program_paths(&self) -> Result<Vec<OsString>, RequestError> {
        match &self.program {
            Program::Path(path) if path.is_empty() => Err(RequestError::EmptyPath),
            Program::Path(path) => Ok(vec![path.clone()]),
            Program::Search(name, _) if name.is_empty() => Err(RequestError::EmptyName),
            Program::Search(name, _) if name.as_bytes().contains(&b'/') => {
                Err(RequestError::NameHasSlash(name.clone()))
            }
            Program::Search(name, directories) if directories.is_empty() => {
                Err(RequestError::NoDirectories(name.clone()))
            }
            Program::Search(name, directories) => {
                let path = |directory: &OsString| {
                    let mut path = directory.clone();
                    path.push("/");
                    path.push(name);
                    path
                };
                Ok(directories.iter().map(path).collect())
            }
            Program::Descriptor(_) => Ok(Vec::new()),
        }
    }

    fn check_environment(&self) -> Result<(), RequestError> {
        for (length, variable) in &self.environment {
            let name = OsStr::from_bytes(&variable.as_bytes()[..*length]);
            if name.is_empty() {
                return Err(RequestError::UnnamedVariable(variable.clone()));
            }
            // The program would see another variable.
            if name.as_bytes().contains(&b'=') {
                return Err(RequestError::VariableHasEquals(name.to_owned()));
            }
            if name.as_bytes().contains(&0) {
                return Err(RequestError::VariableHasNul(name.to_owned()));
            }
        }
        Ok(())
    }
}

fn nanos(time: Duration) -> u64 {
    time.as_nanos().min(u128::from(u64::MAX / 2)) as u64
}

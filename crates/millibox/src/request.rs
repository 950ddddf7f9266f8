//! The request of one run.

use crate::memory_file::sealed_file;
use crate::names::Names;
use crate::tracing::Tracing;
use crate::{Error, Mistakes, Prepared, RequestMistake, World};
use millibox_wire::frame::MAX_RUN;
use millibox_wire::{Bandwidth, Descriptors, Limits, MAX_CPUS, Run, rlimit_number};
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

/// A request for the supervisor: the body of its frame, and the descriptors that are sent with it.
pub(crate) type EncodedRun = (Vec<u8>, Vec<Arc<OwnedFd>>);

/// A program with its arguments, descriptors and limits. A request is cheap enough to build for
/// every run, and can be reused.
///
/// By default argv contains only the program's path, the environment is empty, the working
/// directory is `/`, and the standard streams are /dev/null. The world is [`World::minimal`], and
/// the only limit is [`Request::DEFAULT_PROCESS_LIMIT`].
///
/// Methods do not check their values. All mistakes are reported together when the run is requested.
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
    /// The variables as `NAME=VALUE`, each with the length of its name.
    environment: Vec<(usize, OsString)>,
    working_directory: OsString,
    streams: [Option<Arc<OwnedFd>>; 3],
    world: World,
    limits: Limits,
    rlimits: Vec<(u8, u64)>,
    cpus: Vec<u64>,
    output_limit: Option<u64>,
    may_start_cold: bool,
    explained: bool,
    /// The mistakes that setters have found. They are reported when the run is requested.
    mistakes: Vec<RequestMistake>,
}

impl Request {
    /// The process limit of a run that does not specify one. The default stops fork bombs and
    /// leaves room for the thread pools of language runtimes. Call [`Request::process_limit`] for a
    /// higher limit.
    pub const DEFAULT_PROCESS_LIMIT: u32 = millibox_wire::DEFAULT_PROCESS_LIMIT;

    /// The largest process limit that the kernel can enforce.
    pub const MAX_PROCESS_LIMIT: u32 = millibox_wire::MAX_PROCESS_LIMIT;

    /// Creates a request to run the program at `path` inside the world.
    pub fn new(path: impl Into<OsString>) -> Request {
        let path = path.into();
        Request::of(Program::Path(path.clone())).arg(path)
    }

    /// Creates a request to run an open ELF executable. Scripts cannot be executed this way. The
    /// argv is empty until arguments are added; the first argument is `argv[0]`.
    pub fn from_descriptor(program: impl Into<Arc<OwnedFd>>) -> Request {
        Request::of(Program::Descriptor(program.into()))
    }

    /// Creates a request to run a program. The argv is empty until arguments are added; the first
    /// argument is `argv[0]`.
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
            explained: false,
            mistakes: Vec::new(),
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

    /// Replaces all arguments, including `argv[0]`.
    #[must_use]
    pub fn argv<S: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = S>) -> Request {
        self.arguments = arguments.into_iter().map(Into::into).collect();
        self
    }

    /// Sets an environment variable. The environment is empty by default. A name that is empty or
    /// contains `=` or a NUL byte is reported as an error when the run is requested.
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
    /// With an `Arc`, many runs can use one descriptor. They share the file position (open(2)), so
    /// open a file again for each run. Drop the request when you no longer need it, because it
    /// keeps its end of a pipe open.
    #[must_use]
    pub fn stdin(mut self, descriptor: impl Into<Arc<OwnedFd>>) -> Request {
        self.streams[0] = Some(descriptor.into());
        self
    }

    /// Sets the bytes that the program reads from standard input. The bytes are stored in a file in
    /// memory. All runs of this request share the file's position, so build a new request for each
    /// run. If the file cannot be created, an error is reported when the run is requested.
    #[must_use]
    pub fn input(mut self, bytes: impl AsRef<[u8]>) -> Request {
        match sealed_file(bytes.as_ref()) {
            Ok(file) => self.streams[0] = Some(file),
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(0);
                self.mistakes.push(RequestMistake::Input(errno));
            }
        }
        self
    }

    /// Sets standard output. The default is /dev/null. The reader of a pipe sees the end of the
    /// stream once the run is over and the request is dropped, because the request also keeps the
    /// pipe open.
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

    /// Sets the world, which is everything that the program sees. The default is
    /// [`World::minimal`].
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
    /// let output = supervisor.output(&request, 1 << 20)?;
    /// assert!(matches!(output.result.start, Start::Prepared { .. }));
    /// # Ok::<(), millibox::Error>(())
    /// ```
    #[must_use]
    pub fn prepared(mut self, program: &Prepared) -> Request {
        self.world = program.world().clone();
        self
    }

    /// Allows the supervisor to execute the program if no copy of the prepared program can be made.
    /// [`RunResult::start`] then contains the reason. Without this option the run ends with
    /// [`Outcome::NotStarted`].
    ///
    /// [`RunResult::start`]: crate::RunResult::start
    /// [`Outcome::NotStarted`]: crate::Outcome::NotStarted
    #[must_use]
    pub fn may_start_cold(mut self, allowed: bool) -> Request {
        self.may_start_cold = allowed;
        self
    }

    /// Traces the run, and explains what the program lacked: system calls that the seccomp policy
    /// refused, and files of the host that the world does not show. [`Handle::explanation`] returns
    /// the explanation.
    ///
    /// The run is much slower, so its figures must not decide a verdict. A copy of a prepared
    /// program cannot be traced, so the run is started cold. While the run lasts, no thread of this
    /// process may wait for arbitrary children (`waitpid(-1)`).
    ///
    /// The explanation contains which of the paths that the program looked for exist on the host.
    /// Do not show it to users that must not know this.
    ///
    /// ```
    /// use millibox::{Request, Supervisor};
    ///
    /// let Ok(supervisor) = Supervisor::start() else { return };
    /// let request = Request::new("/bin/cat").arg("/etc/passwd").explain(true);
    /// let run = supervisor.run(&request).unwrap();
    /// run.wait().unwrap();
    /// let explanation = run.explanation().expect("the run was traced");
    /// assert_eq!(explanation.missing_paths[0].path, "/etc/passwd");
    /// assert_eq!(explanation.options[0].option(), "--ro /etc/passwd");
    /// ```
    ///
    /// [`Handle::explanation`]: crate::Handle::explanation
    #[must_use]
    pub fn explain(mut self, explained: bool) -> Request {
        self.explained = explained;
        self
    }

    /// Limits the number of simultaneous processes and threads, including the program itself. The
    /// limit is from 1 to [`Request::MAX_PROCESS_LIMIT`]. A run without a limit of its own gets
    /// [`Request::DEFAULT_PROCESS_LIMIT`].
    #[must_use]
    pub fn process_limit(mut self, processes: u32) -> Request {
        self.limits.processes = Some(processes);
        self
    }

    /// Limits the memory of the whole process tree in bytes, including kernel memory, tmpfs and
    /// page cache. The run gets no swap unless [`Request::swap_limit`] allows it.
    ///
    /// Without cgroups (backend `rlimit`) the limit applies to the address space of each process.
    /// At the limit the kernel refuses memory, and the program reacts in its own way; the outcome
    /// is not [`Outcome::MemoryLimit`](crate::Outcome::MemoryLimit).
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Request {
        self.limits.memory = Some(bytes);
        self
    }

    /// Limits the swap of the whole process tree in bytes, in addition to the memory limit, which
    /// is required.
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
    /// `"NOFILE"`. An unknown name is reported as an error when the run is requested.
    ///
    /// `"CORE"` is 1 by default, and 0 is treated as 1. With 1 no core is written, and the kernel
    /// does not start the host's core handler, which it would do with 0 (core(5)).
    #[must_use]
    pub fn rlimit(mut self, name: &str, value: u64) -> Request {
        match rlimit_number(name) {
            Some(number) => {
                self.rlimits.retain(|(known, _)| *known != number);
                self.rlimits.push((number, value));
            }
            None => self
                .mistakes
                .push(RequestMistake::UnknownRlimit(name.to_owned())),
        }
        self
    }

    /// Sets the CPUs that the run may use, by number. An empty list or a number above 1023 is
    /// reported as an error when the run is requested.
    ///
    /// The program cannot choose other CPUs as long as its seccomp program refuses
    /// sched_setaffinity(2), as the built-in profiles do.
    #[must_use]
    pub fn cpus(mut self, cpus: impl IntoIterator<Item = usize>) -> Request {
        let mut mask = Vec::new();
        let mut is_empty = true;
        for cpu in cpus {
            is_empty = false;
            if cpu >= MAX_CPUS {
                self.mistakes.push(RequestMistake::CpuNumber(cpu));
                continue;
            }
            if mask.len() <= cpu / 64 {
                mask.resize(cpu / 64 + 1, 0u64);
            }
            mask[cpu / 64] |= 1 << (cpu % 64);
        }
        if is_empty {
            self.mistakes.push(RequestMistake::NoCpus);
        }
        self.cpus = mask;
        self
    }

    /// Limits the bytes that the run may write to any one file (`RLIMIT_FSIZE`).
    ///
    /// If the first process exceeds the limit and SIGXFSZ ends it, the outcome is
    /// [`crate::Outcome::OutputLimit`]. A program that ignores the signal, as Python does, receives
    /// EFBIG and continues. The limit does not apply to pipes:
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

    /// Starts a tracer if the request asks for an explanation. `ids` are those of the run's user.
    pub(crate) fn tracing(&self, ids: (u32, u32)) -> Result<Option<Tracing>, Error> {
        self.explained
            .then(|| Tracing::start(&self.world, ids))
            .transpose()
    }

    pub(crate) fn has_output_limit(&self) -> bool {
        self.output_limit.is_some()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Checks everything that can be checked without a supervisor. Requesting a run makes the same
    /// checks.
    ///
    /// ```
    /// use millibox::{Request, RequestMistake};
    /// let request = Request::new("/bin/true").rlimit("BOGUS", 1);
    /// let mistakes = request.check().unwrap_err();
    /// assert_eq!(mistakes.as_slice(), [RequestMistake::UnknownRlimit("BOGUS".to_owned())]);
    /// ```
    ///
    /// # Errors
    /// All mistakes in the request and in its world.
    pub fn check(&self) -> Result<(), Mistakes<RequestMistake>> {
        let mut mistakes = Vec::new();
        let paths = self.program_paths(&mut mistakes);
        self.collect_mistakes(&paths, &mut mistakes);
        Mistakes::check(mistakes)
    }

    /// Collects all mistakes except those in the program's name.
    fn collect_mistakes(&self, paths: &[OsString], mistakes: &mut Vec<RequestMistake>) {
        mistakes.splice(0..0, self.mistakes.iter().cloned());
        // An empty argv lets the program read its environment as arguments (CVE-2021-4034).
        let has_argv0 = self
            .arguments
            .first()
            .is_some_and(|first| !first.is_empty());
        if !paths.is_empty() && !has_argv0 {
            mistakes.push(RequestMistake::NoArgv0);
        }
        mistakes.extend(self.limits.errors().into_iter().map(RequestMistake::Limit));
        if let Program::Descriptor(program) = &self.program {
            let mut beginning = [0; 2];
            if rustix::io::pread(program, &mut beginning, 0) == Ok(2) && beginning == *b"#!" {
                mistakes.push(RequestMistake::ScriptByDescriptor);
            }
        }
        self.check_environment(mistakes);
        let strings = std::iter::once(&self.working_directory)
            .chain(paths)
            .chain(&self.arguments);
        for string in strings.filter(|string| string.as_bytes().contains(&0)) {
            // argv[0] is often the path of the program.
            let mistake = RequestMistake::HasNul(string.clone());
            if !mistakes.contains(&mistake) {
                mistakes.push(mistake);
            }
        }
        mistakes.extend_from_slice(self.world.mistakes());
    }

    fn variables(&self) -> impl Iterator<Item = &OsString> {
        self.environment.iter().map(|(_, variable)| variable)
    }

    /// Checks and encodes the request, whose descriptors are sent separately. `mistakes` are the
    /// mistakes that the [`Supervisor`](crate::Supervisor) has found. `tracer` is the socket of a
    /// tracer.
    pub(crate) fn encode(
        &self,
        mut mistakes: Vec<RequestMistake>,
        tracer: Option<Arc<OwnedFd>>,
    ) -> Result<EncodedRun, Mistakes<RequestMistake>> {
        let paths = self.program_paths(&mut mistakes);
        self.collect_mistakes(&paths, &mut mistakes);
        Mistakes::check(mistakes)?;
        let mut strings = Vec::new();
        let all = std::iter::once(&self.working_directory)
            .chain(&paths)
            .chain(&self.arguments)
            .chain(self.variables());
        for string in all {
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
        let is_traced = tracer.is_some();
        descriptors.extend(tracer);
        // The check has found no mistake in the world.
        let world = match is_traced {
            true => self.world.clone().without_program().located(),
            false => self.world.located(),
        };
        let world = world.unwrap_or_default();
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
                tracer: is_traced,
            },
            limits: self.limits,
            rlimits,
            cpus: self.cpus.clone(),
            may_start_cold: self.may_start_cold,
        };
        let body = millibox_wire::encode(&run);
        if body.len() > MAX_RUN {
            return Err(RequestMistake::TooLong {
                bytes: body.len(),
                max_bytes: MAX_RUN,
            }
            .into());
        }
        Ok((body, descriptors))
    }

    /// The paths to try, in order. The list is empty if the program is a descriptor or its name is
    /// invalid.
    fn program_paths(&self, mistakes: &mut Vec<RequestMistake>) -> Vec<OsString> {
        let mistake = match &self.program {
            Program::Path(path) if path.is_empty() => RequestMistake::EmptyPath,
            Program::Path(path) => return vec![path.clone()],
            Program::Search(name, _) if name.is_empty() => RequestMistake::EmptyName,
            Program::Search(name, _) if name.as_bytes().contains(&b'/') => {
                RequestMistake::NameHasSlash(name.clone())
            }
            Program::Search(name, directories) if directories.is_empty() => {
                RequestMistake::NoDirectories(name.clone())
            }
            Program::Search(name, directories) => {
                let path = |directory: &OsString| {
                    let mut path = directory.clone();
                    path.push("/");
                    path.push(name);
                    path
                };
                return directories.iter().map(path).collect();
            }
            Program::Descriptor(_) => return Vec::new(),
        };
        mistakes.push(mistake);
        Vec::new()
    }

    fn check_environment(&self, mistakes: &mut Vec<RequestMistake>) {
        for (length, variable) in &self.environment {
            let name = OsStr::from_bytes(&variable.as_bytes()[..*length]);
            if name.is_empty() {
                mistakes.push(RequestMistake::UnnamedVariable(variable.clone()));
            } else if name.as_bytes().contains(&b'=') {
                // The program would see a variable with a shorter name.
                mistakes.push(RequestMistake::VariableHasEquals(name.to_owned()));
            } else if name.as_bytes().contains(&0) {
                mistakes.push(RequestMistake::VariableHasNul(name.to_owned()));
            } else if variable.as_bytes().contains(&0) {
                mistakes.push(RequestMistake::HasNul(variable.clone()));
            }
        }
    }
}

fn nanos(time: Duration) -> u64 {
    time.as_nanos().min(u128::from(u64::MAX / 2)) as u64
}

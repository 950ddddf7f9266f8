//! One run that is asked for.

use crate::{Error, World};
use millibox_wire::path::shown;
use millibox_wire::{Bandwidth, Descriptors, Limits, MOST_CPUS, Outcome, Run, RunResult, rlimit_number};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

/// What is to be executed.
#[derive(Debug, Clone)]
pub enum Program {
    /// A path inside the world.
    Path(OsString),
    /// A name without `/`: looked for in these directories of the world, as execvp(3) does.
    Search(OsString, Vec<OsString>),
    /// An open file (a memfd, too), whether or not the world has it.
    Descriptor(Arc<OwnedFd>),
}

/// What messages call a run's program and directory: the supervisor forgets paths with the run, and a descriptor has no
/// name.
#[derive(Debug)]
pub(crate) struct Names {
    program: Name,
    working_directory: OsString,
}

#[derive(Debug)]
enum Name {
    /// As it was given.
    Path(OsString),
    /// With the directories.
    Searched(OsString),
    None,
}

impl Names {
    /// Names the program that could not be executed, or the directory that could not be entered.
    pub fn put_into(&self, mut result: RunResult) -> RunResult {
        let Outcome::NotStarted(error) = &mut result.outcome else { return result };
        if error.step == "working_directory" {
            let named = format!("enter the working directory {}", shown(self.working_directory.as_bytes()));
            error.message = error.message.replacen("enter the working directory", &named, 1);
        }
        let (Name::Path(name) | Name::Searched(name)) = &self.program else { return result };
        if error.step != "exec" {
            return result;
        }
        let named = format!("execute {}", shown(name.as_bytes()));
        error.message = error.message.replacen("execute the program", &named, 1);
        if let (Name::Path(path), Some(libc::ENOENT)) = (&self.program, error.errno)
            && !path.as_bytes().contains(&b'/')
        {
            error.message += "; it is taken as a path: with Program::Search a name without / is looked for";
        }
        result
    }
}

/// A program with its arguments, descriptors and limits. Cheap enough to make anew for
/// every run, and reusable.
///
/// Without more said: argv is the program's path alone, no environment, working directory
/// `/`, standard streams on /dev/null, the [minimal](World::minimal) world, no limits.
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
}

impl Request {
    /// The process limit of a run that names none. It stops fork bombs and leaves room for the thread
    /// pools of language runtimes. For more, call [`Request::process_limit`].
    pub const DEFAULT_PROCESS_LIMIT: u32 = millibox_wire::DEFAULT_PROCESS_LIMIT;

    /// The largest process limit: the kernel has no more ids of processes (`PID_MAX_LIMIT`, and pids.max takes no more),
    /// and up to three of them are the sandbox's own.
    pub const MOST_PROCESSES: u32 = (1 << 22) - 3;

    /// A run of the program at `path` inside the world.
    pub fn new(path: impl Into<OsString>) -> Request {
        let path = path.into();
        Request::of(Program::Path(path.clone())).arg(path)
    }

    /// A run of an open ELF executable; a script cannot be run so. Its argv is empty unless arguments are added, of which
    /// the first is `argv[0]`.
    pub fn from_descriptor(program: impl Into<Arc<OwnedFd>>) -> Request {
        Request::of(Program::Descriptor(program.into()))
    }

    /// A run of a program; argv is empty until arguments are added, its name included.
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

    /// Sets a variable of the environment, which is empty at first. A name that is empty or holds `=` or a NUL byte is
    /// refused when the run is asked for.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Request {
        let mut variable = name.as_ref().to_owned();
        let length = variable.len();
        self.environment.retain(|(known, text)| text.as_bytes()[..*known] != *variable.as_bytes());
        variable.push("=");
        variable.push(value);
        self.environment.push((length, variable));
        self
    }

    /// Working directory inside the world.
    #[must_use]
    pub fn current_dir(mut self, directory: impl Into<OsString>) -> Request {
        self.working_directory = directory.into();
        self
    }

    /// Standard input.
    ///
    /// An `Arc` makes one descriptor many runs' input. A file is then read on from where the last one stopped, as its
    /// position is the descriptor's (open(2)): open it anew for each run. Of a pipe, give away what you have: while a
    /// request holds an end of it, so do you.
    #[must_use]
    pub fn stdin(mut self, descriptor: impl Into<Arc<OwnedFd>>) -> Request {
        self.streams[0] = Some(descriptor.into());
        self
    }

    /// Standard output. A pipe's reader sees its end when the run is over and the request is dropped, which holds this end,
    /// too.
    #[must_use]
    pub fn stdout(mut self, descriptor: impl Into<Arc<OwnedFd>>) -> Request {
        self.streams[1] = Some(descriptor.into());
        self
    }

    /// Standard error. As with [`Request::stdout`].
    #[must_use]
    pub fn stderr(mut self, descriptor: impl Into<Arc<OwnedFd>>) -> Request {
        self.streams[2] = Some(descriptor.into());
        self
    }

    /// What the program sees.
    #[must_use]
    pub fn world(mut self, world: &World) -> Request {
        self.world = world.clone();
        self
    }

    /// Limits processes and threads at one time, including the program itself, to 1 up to
    /// [`Request::MOST_PROCESSES`]. A run without a limit of its own gets
    /// [`Request::DEFAULT_PROCESS_LIMIT`].
    #[must_use]
    pub fn process_limit(mut self, processes: u32) -> Request {
        self.limits.processes = Some(processes);
        self
    }

    /// Memory of the whole tree in bytes, more than 0, kernel memory, tmpfs and page cache included.
    /// Swap is none unless [`Request::swap_limit`] gives some.
    ///
    /// Without cgroups (backend rlimit) it is the address space of each process, and who has used it up is told so by the
    /// kernel: the run then ends in its own way, not by [`Outcome::MemoryLimit`](crate::Outcome::MemoryLimit).
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Request {
        self.limits.memory = Some(bytes);
        self
    }

    /// Swap of the whole tree in bytes, on top of the memory limit, which must be set.
    #[must_use]
    pub fn swap_limit(mut self, bytes: u64) -> Request {
        self.limits.swap = Some(bytes);
        self
    }

    /// At most `max` (at least 1 ms) of CPU time in every `period` (1 ms to 1 s), all CPUs together.
    #[must_use]
    pub fn cpu_bandwidth(mut self, max: Duration, period: Duration) -> Request {
        let micros = |time: Duration| time.as_micros().min(u128::from(u64::MAX)) as u64;
        self.limits.cpu_bandwidth = Some(Bandwidth { max_us: micros(max), period_us: micros(period) });
        self
    }

    /// Time from just before the exec to the end of the first process, more than 0.
    #[must_use]
    pub fn real_time_limit(mut self, limit: Duration) -> Request {
        self.limits.real_time_ns = Some(nanos(limit));
        self
    }

    /// User and system CPU time of the whole tree, more than 0.
    #[must_use]
    pub fn cpu_time_limit(mut self, limit: Duration) -> Request {
        self.limits.cpu_time_ns = Some(nanos(limit));
        self
    }

    /// Soft and hard limit of a resource (setrlimit(2)), by its name: `"NOFILE"`.
    ///
    /// `"CORE"` is 1 without a word, and for 0: there is no core then, and no handler on the host is asked for one, as it
    /// would be with 0 (core(5)).
    ///
    /// # Errors
    /// There is no such resource.
    pub fn rlimit(mut self, name: &str, value: u64) -> Result<Request, Error> {
        let number = rlimit_number(name).ok_or_else(|| {
            Error::Request(format!(
                "there is no resource limit {name:?}; those there are: {}",
                millibox_wire::RLIMITS.join(", ")
            ))
        })?;
        self.rlimits.retain(|(known, _)| *known != number);
        self.rlimits.push((number, value));
        Ok(self)
    }

    /// CPUs that the run may use, by number.
    ///
    /// It cannot choose others while its seccomp program refuses sched_setaffinity(2), as the built-in ones do.
    ///
    /// # Errors
    /// A number is beyond 1023, or there is none.
    pub fn cpus(mut self, cpus: impl IntoIterator<Item = usize>) -> Result<Request, Error> {
        let mut mask = Vec::new();
        for cpu in cpus {
            if cpu >= MOST_CPUS {
                return Err(Error::Request(format!("CPU {cpu}: numbers end at {}", MOST_CPUS - 1)));
            }
            if mask.len() <= cpu / 64 {
                mask.resize(cpu / 64 + 1, 0u64);
            }
            mask[cpu / 64] |= 1 << (cpu % 64);
        }
        if mask.is_empty() {
            return Err(Error::Request("the list of CPUs is empty".to_owned()));
        }
        self.cpus = mask;
        Ok(self)
    }

    /// Bytes that the run may write to any one file (`RLIMIT_FSIZE`). If going beyond it ends the first process (SIGXFSZ)
    /// that is [`Outcome::OutputLimit`](crate::Outcome::OutputLimit); who ignores the signal, as Python does, is refused
    /// the rest (EFBIG), and ends as it will. A pipe is no file: whoever
    /// moves its bytes counts them, see [`move_output`](crate::move_output).
    #[must_use]
    pub fn output_limit(mut self, bytes: u64) -> Request {
        self.output_limit = Some(bytes);
        self
    }

    pub(crate) fn names(&self) -> Names {
        let program = match &self.program {
            Program::Path(path) => Name::Path(path.clone()),
            Program::Search(name, directories) => {
                let mut words = name.clone();
                words.push(" (looked for in ");
                for (index, directory) in directories.iter().enumerate() {
                    words.push(if index > 0 { ":" } else { "" });
                    words.push(directory);
                }
                words.push(")");
                Name::Searched(words)
            }
            Program::Descriptor(_) => Name::None,
        };
        Names { program, working_directory: self.working_directory.clone() }
    }

    pub(crate) fn has_output_limit(&self) -> bool {
        self.output_limit.is_some()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Checks all that can be checked here, and encodes. The descriptors go beside it.
    pub(crate) fn encode(&self, partner: Option<u64>) -> Result<(Vec<u8>, Vec<Arc<OwnedFd>>), Error> {
        let says = |why: String| Err(Error::Request(why));
        let paths: Vec<OsString> = match &self.program {
            Program::Path(path) if path.is_empty() => return says("the program's path is empty".to_owned()),
            Program::Path(path) => vec![path.clone()],
            Program::Search(name, directories) => {
                if name.is_empty() {
                    return says("the name of the program that is to be looked for is empty".to_owned());
                }
                if name.as_bytes().contains(&b'/') {
                    return says(format!("{name:?} cannot be looked for, as it has a /: give it as Program::Path"));
                }
                if directories.is_empty() {
                    return says(format!("{name:?} cannot be looked for: name at least one directory to look in"));
                }
                directories
                    .iter()
                    .map(|directory| {
                        let mut path = directory.clone();
                        path.push("/");
                        path.push(name);
                        path
                    })
                    .collect()
            }
            Program::Descriptor(_) => Vec::new(),
        };
        // An empty argv lets the program read its environment as arguments (CVE-2021-4034).
        if !paths.is_empty() && self.arguments.first().is_none_or(|first| first.is_empty()) {
            return says("argv must not be empty, nor argv[0]: name the program as the first argument".to_owned());
        }
        if let Some(bandwidth) = self.limits.cpu_bandwidth {
            if bandwidth.max_us < 1000 {
                return says(format!("CPU bandwidth: {} us of CPU time is below 1000 us", bandwidth.max_us));
            }
            if !(1000..=1_000_000).contains(&bandwidth.period_us) {
                return says(format!(
                    "CPU bandwidth: a period of {} us is not between 1000 us and 1000000 us",
                    bandwidth.period_us
                ));
            }
        }
        if let Some(processes) = self.limits.processes.filter(|&processes| processes > Request::MOST_PROCESSES) {
            return says(format!(
                "a process limit of {processes} is above {}, the most that the kernel can hold",
                Request::MOST_PROCESSES
            ));
        }
        // The program would be told to have gone beyond it; but it is the caller who has left no room for any.
        let zero = [
            ("process_limit", self.limits.processes.map(u64::from), "count the program itself"),
            ("memory_limit", self.limits.memory, "give bytes"),
            ("real_time_limit", self.limits.real_time_ns, "give more time"),
            ("cpu_time_limit", self.limits.cpu_time_ns, "give more time"),
        ];
        if let Some((method, _, remedy)) = zero.into_iter().find(|(_, limit, _)| *limit == Some(0)) {
            return says(format!(
                "{method} is 0, with which no program can run: {remedy}, or do not call it for no limit"
            ));
        }
        if let Program::Descriptor(program) = &self.program {
            let mut beginning = [0; 2];
            if rustix::io::pread(program, &mut beginning, 0) == Ok(2) && beginning == *b"#!" {
                return says(
                    "the program is a script, which cannot be run by descriptor: its interpreter would have to open it by a \
                     name, and it has none (execveat(2), BUGS); give its path, or run the interpreter with it as stdin"
                        .to_owned(),
                );
            }
        }
        for (length, variable) in &self.environment {
            let name = OsStr::from_bytes(&variable.as_bytes()[..*length]);
            if name.is_empty() {
                return says(format!("a variable of the environment has no name: {variable:?}"));
            }
            // The program would see another variable.
            if name.as_bytes().contains(&b'=') {
                return says(format!(
                    "a variable of the environment cannot have the name {name:?}: what is after a = is its value"
                ));
            }
            if name.as_bytes().contains(&0) {
                return says(format!(
                    "a variable of the environment cannot have the name {name:?}: it holds a NUL byte"
                ));
            }
        }
        if self.limits.swap.is_some() && self.limits.memory.is_none() {
            return says("a swap limit needs a memory limit beside it".to_owned());
        }
        let mut strings = Vec::new();
        let variables = self.environment.iter().map(|(_, variable)| variable);
        let all = std::iter::once(&self.working_directory).chain(&paths).chain(&self.arguments).chain(variables);
        for string in all {
            if string.as_bytes().contains(&0) {
                return says(format!("{string:?} holds a NUL byte"));
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
        };
        let body = millibox_wire::encode(&run);
        if body.len() > millibox_wire::frame::MAX_BODY {
            return says(format!(
                "arguments, environment and world have {} bytes, at most {} are taken",
                body.len(),
                millibox_wire::frame::MAX_BODY
            ));
        }
        Ok((body, descriptors))
    }
}

fn nanos(time: Duration) -> u64 {
    time.as_nanos().min(u128::from(u64::MAX / 2)) as u64
}

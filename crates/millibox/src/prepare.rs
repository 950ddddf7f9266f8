//! Programs that are started once and copied for each run.

use crate::executable::{places, variable};
use crate::{Error, Mount, RequestMistake, World};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

/// The program with which a prepared Python interpreter begins.
const BOOT: &str = include_str!("boot.py");
/// The name of the library with which a program announces that it is ready.
const LIBRARY: &str = "libmillibox_ready.so";
/// The environment variable that contains the path of the library.
const LIBRARY_VARIABLE: &str = "MILLIBOX_READY";
/// The path of the library in the world of prepared runs.
const LIBRARY_IN_WORLD: &str = "/.millibox/libmillibox_ready.so";

/// A program that is started once and runs until it announces that it is ready (the ready point).
/// Each run is then a copy of it in fresh namespaces.
///
/// Only code that all runs may share may run before the ready point: an interpreter and its
/// modules, not a user's program. docs/internals/prepared.md lists the differences from a program
/// that is executed.
///
/// ```
/// use millibox::Prepare;
/// use std::time::Duration;
///
/// let prepare = Prepare::python("/usr/bin/python3", ["json", "re"])
///     .env("LANG", "C.UTF-8")
///     .real_time_limit(Duration::from_secs(10))
///     .runs(1000);
/// ```
#[derive(Debug, Clone)]
pub struct Prepare {
    program: OsString,
    /// The number of options, which follow the first argument.
    options: usize,
    arguments: Vec<OsString>,
    environment: Vec<OsString>,
    limits: millibox_wire::Prepare,
    /// `None` means that it is looked up.
    library: Option<PathBuf>,
}

/// A program in a world, of which runs can be copies; see [`Request::prepared`]. A clone is cheap.
///
/// The value only identifies the program. The supervisor starts the program when a run first needs
/// it and keeps at most one instance for each of its runners. It ends the least recently used
/// instance when a run in another world needs the runner.
///
/// ```
/// use millibox::{Prepare, Request, Supervisor, World};
///
/// let Ok(supervisor) = Supervisor::start() else { return };
/// let prepare = Prepare::python("/usr/bin/python3", ["json"]);
/// // Without the library of prepared programs, or without Python, this example does nothing.
/// let Ok(prepared) = World::minimal().prepare(&prepare) else { return };
/// let request = Request::new("/usr/bin/python3")
///     .args(["-c", "import json; print(json.dumps([1]))"])
///     .prepared(&prepared)
///     .may_start_cold(true);
/// let output = supervisor.output(&request, 1 << 20).unwrap();
/// println!("{}: {}", output.result.start, output.result);
/// ```
///
/// [`Request::prepared`]: crate::Request::prepared
#[derive(Debug, Clone)]
pub struct Prepared {
    world: World,
}

impl Prepare {
    /// Prepares the program at `path` inside the world. The program must call `millibox_ready` of
    /// libmillibox_ready.so, which its world contains as /.millibox/libmillibox_ready.so.
    pub fn new(path: impl Into<OsString>) -> Prepare {
        let path = path.into();
        Prepare {
            arguments: vec![path.clone()],
            program: path,
            options: 0,
            environment: Vec::new(),
            limits: millibox_wire::Prepare {
                real_time_ns: 30_000_000_000,
                cpu_time_ns: 30_000_000_000,
                memory: 1 << 30,
                runs: 1000,
                age_ns: 600_000_000_000,
                ..Default::default()
            },
            library: None,
        }
    }

    /// Sets the path of libmillibox_ready.so on the host. The default is described at
    /// [`World::prepare`].
    #[must_use]
    pub fn library(mut self, path: impl Into<PathBuf>) -> Prepare {
        self.library = Some(path.into());
        self
    }

    /// Prepares the Python interpreter at `path` inside the world, with these modules imported. A
    /// run's arguments are those of `python3`: `-c CODE`, `-m MODULE`, a file, or none for a
    /// program from standard input. With other options the copy executes the interpreter.
    pub fn python<S: Into<OsString>>(
        path: impl Into<OsString>,
        modules: impl IntoIterator<Item = S>,
    ) -> Prepare {
        let modules = modules.into_iter().map(Into::into);
        let mut prepare = Prepare::new(path).arg("-c").arg(BOOT).arg(LIBRARY_IN_WORLD);
        prepare.arguments.extend(modules);
        prepare
    }

    /// Adds an option before all arguments except the first. A run of a prepared interpreter needs
    /// the same options; with other options the copy executes the interpreter.
    #[must_use]
    pub fn option(mut self, option: impl Into<OsString>) -> Prepare {
        self.options += 1;
        self.arguments.insert(self.options, option.into());
        self
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Prepare {
        self.arguments.push(argument.into());
        self
    }

    /// Sets an environment variable that applies until the program is ready. A run has the
    /// environment of its request.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Prepare {
        let mut variable = name.as_ref().to_owned();
        variable.push("=");
        variable.push(value);
        self.environment.push(variable);
        self
    }

    /// Limits the time until the program is ready. The default is 30 s.
    #[must_use]
    pub fn real_time_limit(mut self, limit: Duration) -> Prepare {
        self.limits.real_time_ns = limit.as_nanos().min(u128::from(u64::MAX / 2)) as u64;
        self
    }

    /// Limits the CPU time until the program is ready. The default is 30 s.
    #[must_use]
    pub fn cpu_time_limit(mut self, limit: Duration) -> Prepare {
        self.limits.cpu_time_ns = limit.as_nanos().min(u128::from(u64::MAX / 2)) as u64;
        self
    }

    /// Limits the memory until the program is ready, in bytes. The default is 1 GiB. The `rlimit`
    /// backend does not enforce this limit.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Prepare {
        self.limits.memory = bytes;
        self
    }

    /// Restarts the program after this number of runs. The default is 1000.
    #[must_use]
    pub fn runs(mut self, runs: u32) -> Prepare {
        self.limits.runs = runs;
        self
    }

    /// Restarts the program after the first run that ends when the program has reached this age.
    /// The default is 10 min.
    #[must_use]
    pub fn age(mut self, age: Duration) -> Prepare {
        self.limits.age_ns = age.as_nanos().min(u128::from(u64::MAX / 2)) as u64;
        self
    }

    fn encode(&self) -> Result<millibox_wire::Prepare, RequestMistake> {
        let mut strings = Vec::new();
        let directory = OsString::from("/");
        let all = [&directory, &self.program].into_iter();
        for string in all.chain(&self.arguments).chain(&self.environment) {
            if string.as_bytes().contains(&0) {
                return Err(RequestMistake::HasNul(string.clone()));
            }
            strings.extend_from_slice(string.as_bytes());
            strings.push(0);
        }
        Ok(millibox_wire::Prepare {
            strings,
            arguments: self.arguments.len() as u32,
            environment: self.environment.len() as u32,
            ..self.limits.clone()
        })
    }
}

impl World {
    /// Prepares a program in this world. The program is not started before a run needs it.
    ///
    /// # Errors
    /// [`Prepare::library`] is not called, the variable `MILLIBOX_READY` is not set, and
    /// libmillibox_ready.so is not beside the supervisor's executable, where `cargo build` puts it.
    /// It is also an error if a string contains a NUL byte.
    pub fn prepare(&self, prepare: &Prepare) -> Result<Prepared, Error> {
        let library = match &prepare.library {
            Some(path) => std::path::absolute(path).unwrap_or_else(|_| path.clone()),
            None => library()?,
        };
        let world = self
            .clone()
            .mount(Mount::read_only(library, LIBRARY_IN_WORLD))
            .with_program(prepare.encode()?);
        Ok(Prepared { world })
    }
}

impl Prepared {
    /// The world of the runs.
    pub(crate) fn world(&self) -> &World {
        &self.world
    }
}

/// The path of the library.
fn library() -> Result<PathBuf, RequestMistake> {
    if let Some(path) = variable(LIBRARY_VARIABLE) {
        return Ok(PathBuf::from(path));
    }
    let places = places(LIBRARY);
    let found = places.iter().find(|path| path.exists()).cloned();
    found
        .and_then(|path| std::path::absolute(path).ok())
        .ok_or(RequestMistake::NoReadyLibrary(places))
}

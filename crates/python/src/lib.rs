//! The native half of the Python package `millibox`. `python/millibox` has the public half.
//!
//! This module only translates: requests of Python become requests of the library, and results
//! become tuples. Waiting releases the interpreter.

mod files;

use files::Staging;
use millibox::{
    BackendChoice, Builder, Capture, Error, Handle, Mount, Outcome, Output, Prepare, Prepared,
    Request, RunResult, Streams, Supervisor, World,
};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rustix::event::epoll;
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pyo3::create_exception!(
    millibox, // the public module, which pickle imports
    SandboxError,
    PyRuntimeError,
    "The sandbox failed. The result does not depend on the program."
);

/// Outcome, exit code, signal, error, and the figures: real time, user time and system time in
/// nanoseconds, peak memory in bytes, peak number of processes; then the backend.
type Facts = (
    &'static str,
    Option<i32>,
    Option<i32>,
    Option<String>,
    (u64, u64, u64, u64, Option<u32>),
    String,
    Option<String>,
);

/// The period in which a waiting thread looks for signals that another thread has received.
const SIGNAL_PERIOD: Duration = Duration::from_millis(100);

/// The exit status of `millibox-stage` if it does not execute the program.
const EXIT_NOT_EXECUTED: i32 = 127;

fn raised(error: Error) -> PyErr {
    match error {
        Error::Request(mistakes) => PyValueError::new_err(mistakes.to_string()),
        error => SandboxError::new_err(error.to_string()),
    }
}

/// Raises the failure of a system call, for example because too many files are open.
fn failed(what: &'static str) -> impl Fn(std::io::Error) -> PyErr {
    move |error| raised(Error::System { what, error })
}

/// Failures of the sandbox are exceptions, so that callers cannot take them for results of
/// programs.
fn facts(result: &RunResult, staging: Option<&Staging>) -> PyResult<Facts> {
    if let Outcome::SandboxError(error) = &result.outcome {
        return Err(SandboxError::new_err(error.to_string()));
    }
    let failure = staging
        .filter(|_| matches!(result.outcome, Outcome::Exited(EXIT_NOT_EXECUTED)))
        .and_then(Staging::failure);
    let (outcome, exit_code, error) = match failure {
        Some(failure) => ("not_started", None, Some(failure)),
        None => (
            result.outcome.name(),
            result.exit_code,
            result.outcome.error().map(ToString::to_string),
        ),
    };
    let figures = &result.figures;
    Ok((
        outcome,
        exit_code,
        result.signal,
        error,
        (
            figures.real_time_ns,
            figures.cpu_user_ns,
            figures.cpu_system_ns,
            figures.peak_memory_bytes,
            figures.peak_processes,
        ),
        result.backend.to_string(),
        result.start.cold_start_reason(),
    ))
}

/// A run that has ended: its facts, output, errors, and whether output was lost.
type Ended<'py> = (Facts, Bound<'py, PyBytes>, Bound<'py, PyBytes>, bool);

fn ended<'py>(py: Python<'py>, output: Output, staging: Option<&Staging>) -> PyResult<Ended<'py>> {
    let bytes = |data: &[u8]| PyBytes::new(py, data);
    let facts = facts(&output.result, staging)?;
    Ok((
        facts,
        bytes(&output.stdout),
        bytes(&output.stderr),
        output.truncated,
    ))
}

/// The environment of a sandbox: files, ids, network and system calls.
#[pyclass(frozen, module = "millibox._native", name = "World")]
struct PyWorld {
    world: World,
}

#[pymethods]
impl PyWorld {
    /// A world of this kind, with directories of the host: source, place, and whether programs may
    /// write to it.
    #[new]
    fn new(kind: &str, mounts: Vec<(PathBuf, PathBuf, bool)>) -> PyResult<PyWorld> {
        let mut world = match kind {
            "standard" => World::standard(),
            "minimal" => World::minimal(),
            "empty" => World::empty(),
            _ => return Err(PyValueError::new_err(format!("there is no world {kind:?}"))),
        };
        for (source, at, writable) in mounts {
            world = world.mount(if writable {
                Mount::read_write(source, at)
            } else {
                Mount::read_only(source, at)
            });
        }
        Ok(PyWorld { world })
    }

    /// Prepares a Python interpreter in this world, with these modules imported.
    fn prepare(
        &self,
        python: OsString,
        modules: Vec<OsString>,
        env: Vec<(OsString, OsString)>,
        library: PathBuf,
    ) -> PyResult<PyPrepared> {
        let prepare = Prepare::python(python, modules).library(library);
        let prepare = env
            .iter()
            .fold(prepare, |prepare, (name, value)| prepare.env(name, value));
        let prepared = self.world.prepare(&prepare).map_err(raised)?;
        Ok(PyPrepared { prepared })
    }
}

/// A Python interpreter of which runs are copies.
#[pyclass(frozen, module = "millibox._native", name = "Prepared")]
struct PyPrepared {
    prepared: Prepared,
}

/// A program with its input and its limits.
#[pyclass(frozen, module = "millibox._native", name = "Request")]
struct PyRequest {
    request: Request,
    /// If the request has files. The request is then for one run only.
    staging: Option<Arc<Staging>>,
}

#[pymethods]
impl PyRequest {
    #[new]
    #[allow(
        clippy::too_many_arguments,
        reason = "the caller is a function of this package"
    )]
    fn new(
        argv: Vec<String>,
        world: &PyWorld,
        prepared: Option<&PyPrepared>,
        files: Option<(PathBuf, &[u8])>,
        stdin: Option<&[u8]>,
        env: Vec<(OsString, OsString)>,
        cwd: Option<OsString>,
        real_time: Option<f64>,
        cpu_time: Option<f64>,
        memory: Option<u64>,
        processes: Option<u32>,
        file_size: Option<u64>,
    ) -> PyResult<PyRequest> {
        let program = argv.first().cloned().unwrap_or_default();
        let mut staging = None;
        let mut request = match files {
            Some((stage, archive)) => {
                let begun = Staging::begin(program.clone(), stdin, archive);
                let (begun, end) = begun.map_err(failed("pass files to a run"))?;
                staging = Some(Arc::new(begun));
                let stage = File::open(stage).map_err(failed("open millibox-stage"))?;
                Request::from_descriptor(OwnedFd::from(stage))
                    .argv(["millibox-stage".to_owned(), program])
                    .args(argv)
                    .stdin(end)
            }
            None => Request::new(program).argv(argv),
        };
        request = match prepared {
            Some(prepared) => request.prepared(&prepared.prepared).may_start_cold(true),
            None => request.world(&world.world),
        };
        for (name, value) in env {
            request = request.env(name, value);
        }
        if let Some(bytes) = stdin.filter(|_| staging.is_none()) {
            request = request.input(bytes);
        }
        if let Some(directory) = cwd {
            request = request.current_dir(directory);
        }
        if let Some(limit) = seconds(real_time)? {
            request = request.real_time_limit(limit);
        }
        if let Some(limit) = seconds(cpu_time)? {
            request = request.cpu_time_limit(limit);
        }
        if let Some(bytes) = memory {
            request = request.memory_limit(bytes);
        }
        if let Some(number) = processes {
            request = request.process_limit(number);
        }
        if let Some(bytes) = file_size {
            request = request.output_limit(bytes);
        }
        Ok(PyRequest { request, staging })
    }
}

fn seconds(value: Option<f64>) -> PyResult<Option<Duration>> {
    let duration = value.map(Duration::try_from_secs_f64).transpose();
    duration.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A sandbox that serves any number of runs.
#[pyclass(frozen, module = "millibox._native", name = "Supervisor")]
struct PySupervisor {
    /// `None` after the end.
    supervisor: Mutex<Option<Arc<Supervisor>>>,
    /// The process that has started it.
    owner: u32,
}

/// After a fork, the child has copies of all objects. Dropping them there would end the runs of the
/// parent.
fn is_copy(owner: u32) -> bool {
    owner != std::process::id()
}

impl Drop for PySupervisor {
    fn drop(&mut self) {
        if is_copy(self.owner) {
            let supervisor = self
                .supervisor
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(supervisor.take());
        }
    }
}

impl PySupervisor {
    fn get(&self) -> PyResult<Arc<Supervisor>> {
        let supervisor = self
            .supervisor
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let closed = || PyRuntimeError::new_err("the sandbox is closed");
        supervisor.clone().ok_or_else(closed)
    }
}

#[pymethods]
impl PySupervisor {
    #[new]
    fn new(
        py: Python<'_>,
        executable: PathBuf,
        backend: &str,
        slots: Option<usize>,
    ) -> PyResult<PySupervisor> {
        let backend = match backend {
            "auto" => BackendChoice::Auto,
            "cgroup2" => BackendChoice::Cgroup2,
            "hybrid" => BackendChoice::Hybrid,
            "rlimit" => BackendChoice::Rlimit,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "there is no backend {backend:?}"
                )));
            }
        };
        let mut builder = Supervisor::builder()
            .executable(executable)
            .backend(backend);
        if let Some(slots) = slots {
            builder = builder.slots(slots);
        }
        let supervisor = py.detach(|| builder.start()).map_err(raised)?;
        Ok(PySupervisor {
            supervisor: Mutex::new(Some(Arc::new(supervisor))),
            owner: std::process::id(),
        })
    }

    /// Whether the supervisor has ended.
    fn is_dead(&self) -> PyResult<bool> {
        Ok(self.get()?.is_dead())
    }

    /// The backend, and the number of programs that can run at the same time.
    fn info(&self) -> PyResult<(String, usize)> {
        let supervisor = self.get()?;
        let info = supervisor.info();
        Ok((info.backend().to_string(), info.slots()))
    }

    /// Runs a program to its end: its facts, output, errors, and whether output was lost.
    fn output<'py>(
        &self,
        py: Python<'py>,
        request: &PyRequest,
        max_bytes: u64,
    ) -> PyResult<Ended<'py>> {
        let supervisor = self.get()?;
        let run = supervisor.capture(&request.request, Streams::Both, max_bytes);
        let (run, mut capture) = run.map_err(raised)?;
        // Ends the run if a signal handler raises an exception, such as KeyboardInterrupt.
        while !py
            .detach(|| capture.read(&run, Some(SIGNAL_PERIOD)))
            .map_err(raised)?
        {
            py.check_signals()?;
        }
        let result = loop {
            match py.detach(|| run.wait_timeout(SIGNAL_PERIOD)) {
                Ok(Some(result)) => break result,
                Ok(None) => py.check_signals()?,
                Err(error) => return Err(raised(error)),
            }
        };
        ended(py, capture.into_output(result), request.staging.as_deref())
    }

    /// Starts a program, whose output may have this number of bytes.
    fn start(&self, request: &PyRequest, max_bytes: u64) -> PyResult<PyRun> {
        let supervisor = self.get()?;
        let run = supervisor.capture(&request.request, Streams::Both, max_bytes);
        let (handle, capture) = run.map_err(raised)?;
        let watched = Watched::new(&handle, capture).map_err(raised)?;
        Ok(PyRun {
            handle: Some(handle),
            watched: Mutex::new(watched),
            staging: request.staging.clone(),
            owner: std::process::id(),
        })
    }

    /// Ends the sandbox with all programs in it.
    fn close(&self, py: Python<'_>) {
        // The lock must be free while this thread waits: another thread may hold the interpreter
        // and want the lock.
        let taken = self
            .supervisor
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(supervisor) = taken {
            supervisor.close();
            py.detach(|| drop(supervisor));
        }
    }
}

/// The output of a run, and the descriptor that watches it.
struct Watched {
    /// `None` after the end of the run.
    capture: Option<Capture>,
    /// An epoll instance with the event of the run and both pipes. An event loop in Python needs
    /// much longer than the kernel to register a descriptor, so it registers only this one.
    watch: OwnedFd,
    watches_event: bool,
}

impl Watched {
    fn new(handle: &Handle, capture: Capture) -> Result<Watched, Error> {
        let event = handle.event()?;
        let watch = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(watch_failed)?;
        let number = |index| epoll::EventData::new_u64(index);
        for (index, pipe) in (1..).zip(capture.descriptors()) {
            let added = epoll::add(&watch, pipe, number(index), epoll::EventFlags::IN);
            added.map_err(watch_failed)?;
        }
        epoll::add(&watch, event, number(0), epoll::EventFlags::IN).map_err(watch_failed)?;
        Ok(Watched {
            capture: Some(capture),
            watch,
            watches_event: true,
        })
    }

    /// Reads the available output. Returns the whole output if the run and its output have ended.
    fn poll(&mut self, handle: &Handle) -> Result<Option<Output>, Error> {
        let Some(capture) = &mut self.capture else {
            return Ok(None);
        };
        let before: Vec<_> = capture.pipes().collect();
        let has_ended = capture.read(handle, Some(Duration::ZERO))?;
        // A forked process may hold a copy of a pipe, and then the pipe would stay in the watch
        // after it was closed here.
        for pipe in before {
            if !capture.pipes().any(|open| Arc::ptr_eq(&open, &pipe)) {
                epoll::delete(&self.watch, &pipe).map_err(watch_failed)?;
            }
        }
        let Some(result) = handle.try_wait()? else {
            return Ok(None);
        };
        if has_ended {
            return Ok(self
                .capture
                .take()
                .map(|capture| capture.into_output(result)));
        }
        // The event of a run that has ended before its output would stay readable.
        if self.watches_event {
            epoll::delete(&self.watch, handle.event()?).map_err(watch_failed)?;
            self.watches_event = false;
        }
        Ok(None)
    }
}

fn watch_failed(errno: Errno) -> Error {
    Error::System {
        what: "watch a run",
        error: errno.into(),
    }
}

/// A program that was started. Dropping it ends the program.
#[pyclass(frozen, module = "millibox._native", name = "Run")]
struct PyRun {
    /// Always there until this value is dropped.
    handle: Option<Handle>,
    watched: Mutex<Watched>,
    staging: Option<Arc<Staging>>,
    /// The process that has started it.
    owner: u32,
}

impl Drop for PyRun {
    fn drop(&mut self) {
        if is_copy(self.owner) {
            std::mem::forget(self.handle.take());
        }
    }
}

impl PyRun {
    fn get(&self) -> PyResult<&Handle> {
        let ended = || PyRuntimeError::new_err("the run belongs to another process");
        self.handle
            .as_ref()
            .filter(|_| !is_copy(self.owner))
            .ok_or_else(ended)
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyRun {
    /// The descriptor that is readable when `poll` can make progress.
    fn fileno(&self) -> PyResult<i32> {
        self.get()?;
        Ok(self.watched().watch.as_raw_fd())
    }

    /// Reads the available output. Returns the same as `output` if the run has ended.
    fn poll<'py>(&self, py: Python<'py>) -> PyResult<Option<Ended<'py>>> {
        let output = self.watched().poll(self.get()?).map_err(raised)?;
        let ended = |output| ended(py, output, self.staging.as_deref());
        output.map(ended).transpose()
    }

    /// Ends the program.
    fn cancel(&self) -> PyResult<()> {
        self.get()?.cancel();
        Ok(())
    }
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SandboxError", module.py().get_type::<SandboxError>())?;
    module.add("MAX_SLOTS", Builder::MAX_SLOTS)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<PyWorld>()?;
    module.add_class::<PyPrepared>()?;
    module.add_class::<PyRequest>()?;
    module.add_class::<PySupervisor>()?;
    module.add_class::<PyRun>()
}

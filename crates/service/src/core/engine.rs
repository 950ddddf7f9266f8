//! Executes programs in the sandbox, without blocking the threads of the service.
//!
//! Two supervisors serve the runs. The supervisor for CPU time has one slot for each CPU, so that
//! CPU times are fair. Each of these slots stays on its CPU, because waking a process on another
//! CPU needs an interrupt, which is expensive in a virtual machine. The supervisor for real time
//! has several slots for each CPU, for runs whose limit is real time and whose callers would rather
//! share a CPU than wait. A supervisor that ends is replaced, and its runs are started once more.

use super::budget::Budget;
use super::execution::{
    Capture, Captured, Content, Excess, Execution, ExecutionError, ExecutionLimits,
    ExecutionReport, Input, Output, Stream,
};
use super::workspace::{self, Stage, Workspace};
use bytes::BytesMut;
use millibox::{Builder, Error, Outcome, Request, RunResult, Supervisor};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio_util::task::AbortOnDropHandle;

/// Maximum number of bytes that are read from a stream with one system call.
const CHUNK_BYTES: usize = 64 << 10;
/// Number of bytes of the first read. Most streams are short, and malloc consolidates its small
/// blocks whenever a block of 64 KiB is freed.
const FIRST_CHUNK_BYTES: usize = 4 << 10;
/// The maximum number of times that a run is started if supervisors end during it.
const MAX_ATTEMPTS: u32 = 2;

/// The supervisor on which a run is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// One run for each CPU at a time.
    CpuTime,
    /// Several runs for each CPU at a time.
    RealTime,
}

/// Executes programs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    cpu_time: Supervised,
    real_time: Supervised,
    stage: Option<Arc<OwnedFd>>,
}

/// Keeps one supervisor, and starts another one when it ends.
#[derive(Debug)]
struct Supervised {
    builder: Builder,
    current: Mutex<Option<Arc<Supervisor>>>,
}

impl Engine {
    /// Starts the supervisor for CPU time. The other supervisor starts when it is first needed.
    ///
    /// # Errors
    /// The supervisor cannot be started.
    pub fn start(
        builder: &Builder,
        cpu_slots: usize,
        real_slots: usize,
        stage: Option<Stage>,
    ) -> Result<Engine, Error> {
        let supervised = |builder: Builder, slots| Supervised {
            builder: builder.slots(slots),
            current: Mutex::new(None),
        };
        // Slots that share a CPU must be able to leave it for an idle one.
        let pins = cpu_slots <= allowed_cpus().len();
        let shared = Shared {
            cpu_time: supervised(builder.clone().pin_slots(pins), cpu_slots),
            real_time: supervised(builder.clone(), real_slots),
            stage: stage.map(|Stage(file)| Arc::new(file)),
        };
        shared.cpu_time.supervisor()?;
        Ok(Engine {
            shared: Arc::new(shared),
        })
    }

    /// The supervisor of a lane, restarted if the last one has ended. May block.
    ///
    /// # Errors
    /// The supervisor cannot be started.
    pub fn supervisor(&self, lane: Lane) -> Result<Arc<Supervisor>, Error> {
        self.supervised(lane).supervisor()
    }

    fn supervised(&self, lane: Lane) -> &Supervised {
        match lane {
            Lane::CpuTime => &self.shared.cpu_time,
            Lane::RealTime => &self.shared.real_time,
        }
    }

    async fn supervisor_async(&self, lane: Lane) -> Result<Arc<Supervisor>, ExecutionError> {
        if let Some(supervisor) = self.supervised(lane).living() {
            return Ok(supervisor);
        }
        let engine = self.clone();
        tokio::task::spawn_blocking(move || engine.supervisor(lane))
            .await
            .map_err(|error| ExecutionError::System {
                action: "start a supervisor",
                error: error.into(),
            })?
            .map_err(ExecutionError::Sandbox)
    }

    /// Executes a program and returns its report. If the future is dropped, the run is
    /// cancelled.
    ///
    /// # Errors
    /// There is no result: the request is not valid, or the service failed.
    pub async fn execute(
        &self,
        lane: Lane,
        execution: Execution,
    ) -> Result<ExecutionReport, ExecutionError> {
        let mut execution = execution;
        for attempt in 1.. {
            let supervisor = self.supervisor_async(lane).await?;
            let next = (attempt < MAX_ATTEMPTS)
                .then(|| execution.repeat())
                .flatten();
            let result = self.execute_on(&supervisor, execution).await;
            let next = next.filter(|next| !next.has_passed_on_output());
            match result {
                Ok(mut report) => {
                    report.attempts = attempt;
                    match (&report.outcome, next) {
                        (Outcome::SandboxError(error), Some(next)) => {
                            tracing::warn!(%error, "the sandbox failed; the run is started again");
                            execution = next;
                        }
                        _ => return Ok(report),
                    }
                }
                Err(ExecutionError::Sandbox(error)) => match next {
                    Some(next) => {
                        tracing::warn!(%error, "the supervisor ended; the run is started again");
                        execution = next;
                    }
                    None => return Err(ExecutionError::Sandbox(error)),
                },
                Err(error) => return Err(error),
            }
        }
        unreachable!("the last attempt returns")
    }

    async fn execute_on(
        &self,
        supervisor: &Supervisor,
        execution: Execution,
    ) -> Result<ExecutionReport, ExecutionError> {
        let Execution {
            program,
            argv,
            env,
            world,
            prepared,
            current_dir,
            files,
            files_bytes,
            streams,
            outputs,
            budget,
            limits,
        } = execution;
        let terminal = streams.terminal;
        let mut ends = Ends::default();
        let stdin = ends.input(streams.stdin).await?;
        let stdout = ends.output(1, streams.stdout).await?;
        let stderr = ends.output(2, streams.stderr).await?;
        let mut extra = Vec::with_capacity(streams.extra.len());
        for (index, stream) in streams.extra.into_iter().enumerate() {
            extra.push(match stream {
                Stream::Input(input) => ends.input(input).await?,
                Stream::Output(output) => ends.output(index + 3, output).await?,
            });
        }
        // Large inputs are passed on as long as the run lasts.
        let _feeding = std::mem::take(&mut ends.feeding);
        let has_extra = !extra.is_empty();
        let needs_stage = !files.is_empty() || !outputs.is_empty() || has_extra || terminal;
        let mut workspace = None;
        let is_path = program.as_encoded_bytes().contains(&b'/');
        let mut request = if needs_stage {
            let stage = self.shared.stage.clone().ok_or(ExecutionError::NoStage)?;
            let (ours, socket) = workspace::pair()?;
            let archive = workspace::archive(files, Path::new(&current_dir), files_bytes).await?;
            let sent = Workspace::begin(ours, archive, stdin, extra, terminal)?;
            workspace = Some(sent);
            Request::from_descriptor(stage)
                .argv([OsStr::new("millibox-stage"), &program])
                .args(&argv)
                .stdin(socket)
        } else {
            let program = if is_path {
                millibox::Program::Path(program.clone())
            } else {
                millibox::Program::Search(program.clone(), search_path(&env))
            };
            let request = Request::of(program).argv(argv);
            match stdin {
                Some(stdin) => request.stdin(stdin),
                None => request,
            }
        };
        // A copy cannot place additional descriptors and terminals as `millibox-stage` does.
        request = match prepared.filter(|_| !has_extra && !terminal) {
            Some(prepared) => request.prepared(&prepared).may_start_cold(true),
            None => request.world(&world),
        };
        request = request.current_dir(current_dir);
        if let Some(stdout) = stdout {
            request = request.stdout(stdout);
        }
        if let Some(stderr) = stderr {
            request = request.stderr(stderr);
        }
        for (name, value) in env {
            request = request.env(name, value);
        }
        request = limits.set(request);
        let handle = supervisor.run(&request).map_err(sandbox_or_request)?;
        // The request holds ends of the pipes. While they are open, readers of the pipes see no end
        // of file.
        drop(request);
        let kill = || handle.kill_for_output();
        let wait = async { handle.wait_async().await.map_err(sandbox_or_request) };
        let exchange = async {
            match &mut workspace {
                Some(workspace) => workspace.exchange().await,
                None => Ok(()),
            }
        };
        let (result, captured, exchanged) =
            tokio::join!(wait, ends.read_all(&kill, &budget), exchange);
        let (result, captured) = (result?, captured?);
        let mut result: RunResult = result;
        let mut returned = Vec::new();
        if let Some(workspace) = workspace {
            match exchanged {
                Ok(()) => returned = workspace.read_outputs(outputs, budget).await?,
                // The run's own result is more informative, unless this failure ended the run.
                Err(failure) if matches!(result.outcome, Outcome::Exited(127)) => {
                    workspace::fail(&mut result, &failure, &program)?;
                }
                Err(_) => {}
            }
        }
        Ok(ExecutionReport {
            outcome: result.outcome,
            exit_code: result.exit_code,
            signal: result.signal,
            figures: result.figures,
            captured,
            outputs: returned,
            start: result.start,
            attempts: 1,
        })
    }
}

/// The CPUs that the service may use.
pub fn allowed_cpus() -> Vec<usize> {
    let allowed = rustix::thread::sched_getaffinity(None);
    (0..rustix::thread::CpuSet::MAX_CPU)
        .filter(|cpu| allowed.as_ref().is_ok_and(|set| set.is_set(*cpu)))
        .collect()
}

impl Supervised {
    fn living(&self) -> Option<Arc<Supervisor>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.clone().filter(|supervisor| !supervisor.is_dead())
    }

    fn supervisor(&self) -> Result<Arc<Supervisor>, Error> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(supervisor) = current.as_ref().filter(|supervisor| !supervisor.is_dead()) {
            return Ok(supervisor.clone());
        }
        let supervisor = Arc::new(self.builder.clone().start()?);
        *current = Some(supervisor.clone());
        Ok(supervisor)
    }
}

fn sandbox_or_request(error: Error) -> ExecutionError {
    match error {
        Error::Request(error) => ExecutionError::Request(error),
        error => ExecutionError::Sandbox(error),
    }
}

/// The directories of `PATH`; none if the variable is not set.
fn search_path(env: &[(std::ffi::OsString, std::ffi::OsString)]) -> Vec<std::ffi::OsString> {
    env.iter()
        .rev()
        .find(|(name, _)| name == "PATH")
        .map(|(_, value)| {
            std::env::split_paths(value)
                .map(std::path::PathBuf::into_os_string)
                .collect()
        })
        .unwrap_or_default()
}

impl ExecutionLimits {
    fn set(&self, mut request: Request) -> Request {
        if let Some(limit) = self.cpu_time {
            request = request.cpu_time_limit(limit);
        }
        if let Some(limit) = self.real_time {
            request = request.real_time_limit(limit);
        }
        if let Some(limit) = self.memory_bytes {
            request = request.memory_limit(limit);
        }
        if let Some(limit) = self.file_bytes {
            request = request.output_limit(limit);
        }
        for (name, limit) in [
            ("NOFILE", self.open_files),
            ("STACK", self.stack_bytes),
            ("AS", self.address_space_bytes),
            ("DATA", self.data_bytes),
        ] {
            if let Some(limit) = limit {
                request = request.rlimit(name, limit);
            }
        }
        request.process_limit(self.processes)
    }
}

impl Execution {
    /// Whether output of an earlier attempt was passed on live. The run then cannot be repeated.
    fn has_passed_on_output(&self) -> bool {
        let streams = &self.streams;
        let extra = streams.extra.iter().filter_map(|stream| match stream {
            Stream::Output(output) => Some(output),
            Stream::Input(_) => None,
        });
        [&streams.stdout, &streams.stderr]
            .into_iter()
            .chain(extra)
            .filter_map(|output| match output {
                Output::Capture(capture) => capture.live.as_ref(),
                _ => None,
            })
            .any(super::execution::Live::is_used)
    }

    /// A copy of the execution for another attempt, if all its streams can be created again.
    pub fn repeat(&self) -> Option<Execution> {
        let mut extra = Vec::with_capacity(self.streams.extra.len());
        for stream in &self.streams.extra {
            extra.push(match stream {
                Stream::Input(input) => Stream::Input(input.repeat()?),
                Stream::Output(output) => Stream::Output(output.repeat()?),
            });
        }
        Some(Execution {
            program: self.program.clone(),
            argv: self.argv.clone(),
            env: self.env.clone(),
            world: self.world.clone(),
            prepared: self.prepared.clone(),
            current_dir: self.current_dir.clone(),
            files: self.files.clone(),
            files_bytes: self.files_bytes,
            streams: super::execution::Streams {
                stdin: self.streams.stdin.repeat()?,
                stdout: self.streams.stdout.repeat()?,
                stderr: self.streams.stderr.repeat()?,
                extra,
                terminal: self.streams.terminal,
            },
            outputs: self.outputs.clone(),
            budget: Budget::new(self.budget.left()),
            limits: self.limits.clone(),
        })
    }
}

impl Input {
    fn repeat(&self) -> Option<Input> {
        match self {
            Input::Empty => Some(Input::Empty),
            Input::Content(content) => Some(Input::Content(content.clone())),
            Input::Descriptor(_) => None,
        }
    }
}

impl Output {
    fn repeat(&self) -> Option<Output> {
        match self {
            Output::Discard => Some(Output::Discard),
            Output::Capture(capture) => Some(Output::Capture(capture.clone())),
            Output::SameAs(number) => Some(Output::SameAs(*number)),
            Output::Content(content) => Some(Output::Content(content.clone())),
            Output::Descriptor(_) => None,
        }
    }
}

/// The service's ends of a run's streams.
#[derive(Default)]
struct Ends {
    readers: Vec<Reader>,
    /// The program's ends of captured streams, by descriptor number.
    writers: Vec<(usize, Arc<OwnedFd>)>,
    /// The highest descriptor number.
    last: usize,
    /// Tasks that pass on large inputs.
    feeding: Vec<AbortOnDropHandle<()>>,
}

struct Reader {
    number: usize,
    pipe: pipe::Receiver,
    capture: Capture,
}

impl Ends {
    async fn input(&mut self, input: Input) -> Result<Option<Arc<OwnedFd>>, ExecutionError> {
        Ok(match input {
            Input::Empty => None,
            Input::Content(content) => Some(self.content(content).await?),
            Input::Descriptor(descriptor) => Some(Arc::new(descriptor)),
        })
    }

    async fn content(&mut self, content: Content) -> Result<Arc<OwnedFd>, ExecutionError> {
        let opened = content.open().await?;
        self.feeding.extend(opened.feeding);
        Ok(Arc::new(opened.descriptor))
    }

    async fn output(
        &mut self,
        number: usize,
        output: Output,
    ) -> Result<Option<Arc<OwnedFd>>, ExecutionError> {
        self.last = self.last.max(number);
        Ok(match output {
            Output::Discard => None,
            Output::Descriptor(descriptor) => Some(Arc::new(descriptor)),
            Output::Content(content) => Some(self.content(content).await?),
            Output::SameAs(other) => self
                .writers
                .iter()
                .find(|(known, _)| *known == other)
                .map(|(_, writer)| writer.clone()),
            Output::Capture(capture) => {
                let failed = ExecutionError::system("create a pipe");
                let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
                    .map_err(|errno| failed(errno.into()))?;
                let pipe = pipe::Receiver::from_owned_fd(reader).map_err(failed)?;
                let writer = Arc::new(writer);
                self.writers.push((number, writer.clone()));
                self.readers.push(Reader {
                    number,
                    pipe,
                    capture,
                });
                Some(writer)
            }
        })
    }

    /// Reads all captured streams to their ends.
    async fn read_all(
        mut self,
        kill: &impl Fn(),
        budget: &Budget,
    ) -> Result<Vec<Captured>, ExecutionError> {
        self.writers.clear();
        let mut captured = vec![Captured::default(); self.last + 1];
        let streams = self.readers.into_iter().map(|reader| {
            let number = reader.number;
            async move { (number, reader.read(kill, budget).await) }
        });
        for (number, stream) in futures_util::future::join_all(streams).await {
            captured[number] = stream?;
        }
        Ok(captured)
    }
}

impl Reader {
    async fn read(mut self, kill: &impl Fn(), budget: &Budget) -> Result<Captured, ExecutionError> {
        let max_bytes = self.capture.max_bytes;
        let end_bytes = match self.capture.excess {
            Excess::End => max_bytes,
            Excess::EndAfter(bytes) => bytes.max(max_bytes),
            Excess::Discard => u64::MAX,
        };
        let mut kept = BytesMut::new();
        let mut chunk = BytesMut::new();
        let mut total = 0_u64;
        let mut chunk_bytes = FIRST_CHUNK_BYTES;
        loop {
            chunk.reserve(chunk_bytes);
            let read = self.pipe.read_buf(&mut chunk).await;
            let read = read.map_err(ExecutionError::system("read the output of a program"))?;
            if read == 0 {
                break;
            }
            if read >= chunk_bytes {
                chunk_bytes = CHUNK_BYTES;
            }
            let new = chunk.split().freeze();
            let room = max_bytes.saturating_sub(kept.len() as u64);
            let room = budget.take(room.min(new.len() as u64));
            let room = usize::try_from(room).unwrap_or(usize::MAX);
            total += new.len() as u64;
            if room > 0 {
                let new = new.slice(..room);
                kept.extend_from_slice(&new);
                if let Some(live) = &self.capture.live {
                    live.send(new).await;
                }
            }
            if total > end_bytes {
                kill();
                break;
            }
        }
        Ok(Captured {
            bytes: kept.freeze(),
            total,
        })
    }
}

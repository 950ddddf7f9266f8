//! A program run on one or several inputs: compiled once, then one execution for each test.

use super::catalog::{
    Catalog, CatalogError, CompileLimits, Compiled, Program, Runtime, SourceFile,
};
use super::compare::Comparison;
use super::engine::{Engine, Lane};
use super::execution::{
    Blame, Capture, Content, Excess, Execution, ExecutionError, ExecutionLimits, ExecutionReport,
    Input, InputContent, InputFile, Output, OutputFile, Streams,
};
use super::queue::{Permit, Queue, Refusal, Ticket};
use bytes::Bytes;
use millibox::{Mount, Outcome, World};
use millibox_languages::compile::CompileError;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// The working directory of every run.
pub const WORK_DIRECTORY: &str = "/work";
/// Files and directories in the working directory.
const MAX_WORK_INODES: u64 = 20_000;
/// What a program finds in its environment, beside what its runtime needs.
pub const ENVIRONMENT: [(&str, &str); 4] = [
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("HOME", WORK_DIRECTORY),
    ("LANG", "C.UTF-8"),
    // Without it the order of sets differs from run to run.
    ("PYTHONHASHSEED", "0"),
];

/// A program and the inputs to run it on.
#[derive(Debug, Clone)]
pub struct ProgramRun {
    /// How the run is admitted. Its lane and its memory are those of the run.
    pub ticket: Ticket,
    /// Where the program is executed.
    pub lane: Lane,
    /// What is run.
    pub source: ProgramSource,
    /// Arguments of the program, for all tests.
    pub args: Vec<OsString>,
    /// Variables that are added to the environment or replace others.
    pub env: Vec<(OsString, OsString)>,
    /// Files in the working directory, beside sources.
    pub files: Vec<InputFile>,
    /// The inputs, at least one.
    pub tests: Vec<Test>,
    /// When the remaining tests are skipped.
    pub stop_on: StopOn,
    /// The limits of each test.
    pub limits: RunLimits,
    /// Files that are returned after each test.
    pub outputs: Vec<OutputFile>,
    /// How standard output is kept.
    pub stdout: Keep,
    /// How standard error is kept.
    pub stderr: Keep,
    /// Observes the run.
    pub observer: Option<mpsc::Sender<Event>>,
}

/// What is run.
#[derive(Debug, Clone)]
pub enum ProgramSource {
    /// Sources of a language.
    Sources {
        /// The language.
        runtime: Arc<Runtime>,
        /// The sources.
        files: Vec<SourceFile>,
        /// The main source or class, if there are several.
        entry: Option<String>,
        /// Limits of the compiler.
        limits: CompileLimits,
    },
    /// A program of the system: its path or a name to look up, and its arguments.
    Command(Vec<OsString>),
    /// A program that was made before, by [`Catalog::compile`] or [`Catalog::script`]. The files of
    /// the run contain the source of a script.
    Program(Arc<Program>),
}

/// One input of a program.
#[derive(Debug, Clone, Default)]
pub struct Test {
    /// The caller's name for it.
    pub id: String,
    /// Standard input; `None` is empty.
    pub stdin: Option<Content>,
    /// Further arguments.
    pub args: Vec<OsString>,
    /// The output to compare with.
    pub expected: Option<Bytes>,
    /// How it is compared.
    pub comparison: Comparison,
}

/// When the remaining tests of a run are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StopOn {
    /// Never.
    #[default]
    Never,
    /// After the first test that did not pass.
    Failure,
    /// After the first test that did not exit normally.
    Error,
}

/// Limits of each test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// CPU time of all processes.
    pub cpu_time: Duration,
    /// Time from start to end.
    pub real_time: Duration,
    /// Memory of the program, in bytes; what its runtime needs is added.
    pub memory_bytes: u64,
    /// Processes and threads of the program; those of its runtime are added.
    pub processes: u32,
    /// Bytes of any one file that the program writes.
    pub file_bytes: u64,
    /// Bytes of all files in the working directory.
    pub work_bytes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// Stack of one process in bytes; `None`: as large as memory allows.
    pub stack_bytes: Option<u64>,
}

/// How an output stream is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Bytes that are kept.
    pub max_bytes: u64,
    /// What happens to a program that writes more.
    pub excess: Excess,
    /// The stream goes to standard output, in the order of writing.
    pub into_stdout: bool,
}

/// What connects a program with a client, in place of its standard input.
#[derive(Debug)]
pub enum Attachment {
    /// The reading end of a pipe.
    Pipe(OwnedFd),
    /// The program's end of a terminal, which also takes its output. Such output is not captured.
    Terminal(OwnedFd),
}

/// What happens during a run.
#[derive(Debug, Clone)]
pub enum Event {
    /// The run left the queue.
    Started {
        /// The time in the queue.
        queued: Duration,
    },
    /// The program is compiled, or cannot be.
    Compiled(Compiled),
    /// A test begins.
    TestStarted {
        /// Its index.
        index: usize,
    },
    /// A piece of output.
    Output {
        /// The index of the test.
        test: usize,
        /// 1 for standard output, 2 for standard error.
        stream: u8,
        /// The bytes.
        bytes: Bytes,
    },
    /// A test has ended.
    TestEnded {
        /// Its index.
        index: usize,
        /// Its result.
        report: TestReport,
    },
}

/// The result of a run.
#[derive(Debug, Clone)]
pub struct ProgramReport {
    /// The result of compiling; `None` for commands.
    pub compiled: Option<Compiled>,
    /// The result of each test, in order. Empty if there is no program.
    pub tests: Vec<TestReport>,
    /// Time in the queue.
    pub queued: Duration,
    /// Time until the first test began, compiling included.
    pub setup: Duration,
    /// Time from the request to the result.
    pub total: Duration,
}

/// The result of one test.
#[derive(Debug, Clone)]
pub struct TestReport {
    /// The caller's name for it.
    pub id: String,
    /// The result; `None` if it was skipped.
    pub report: Option<ExecutionReport>,
    /// Whether the program exited with 0 and wrote what was expected; `None` if nothing was
    /// expected or the test did not run.
    pub passed: Option<bool>,
}

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// It was not admitted; nothing ran.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The request cannot be compiled.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A test could not be executed.
    #[error(transparent)]
    Execution(#[from] ExecutionError),
    /// The command is empty.
    #[error("a command needs at least the name of a program")]
    NoCommand,
}

impl ProgramError {
    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        match self {
            ProgramError::Catalog(error) if error.is_service_failure() => Blame::Service,
            ProgramError::Refused(Refusal::TooMuchMemory { .. })
            | ProgramError::Catalog(_)
            | ProgramError::NoCommand => Blame::Request,
            ProgramError::Refused(_) => Blame::Service,
            ProgramError::Execution(error) => error.blame(),
        }
    }
}

/// Whose fault it is that there is no program.
pub fn compile_blame(error: &CompileError) -> Blame {
    match error {
        CompileError::Refused(_) | CompileError::Limit(_) => Blame::Program,
        CompileError::Unavailable(_) => Blame::Request,
        _ => Blame::Service,
    }
}

/// Runs programs: admits, compiles and executes them.
#[derive(Debug, Clone)]
pub struct Runner {
    /// Executes programs.
    pub engine: Engine,
    /// Compiles them.
    pub catalog: Catalog,
    /// Admits them.
    pub queue: Queue,
}

impl Runner {
    /// Runs a program on its tests. If the future is dropped, the run is cancelled.
    ///
    /// # Errors
    /// There is no result: the run was refused, cannot be executed, or the service failed.
    pub async fn run(&self, run: ProgramRun) -> Result<ProgramReport, ProgramError> {
        self.run_attached(run, None).await
    }

    /// Runs a program that is connected with a client during its first test.
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub async fn run_attached(
        &self,
        run: ProgramRun,
        attachment: Option<Attachment>,
    ) -> Result<ProgramReport, ProgramError> {
        let begin = Instant::now();
        let _permit = self.admit(&run).await?;
        self.run_now(run, begin.elapsed(), attachment).await
    }

    /// Waits until a run may start.
    ///
    /// # Errors
    /// The run is refused.
    pub async fn admit(&self, run: &ProgramRun) -> Result<Permit, Refusal> {
        let ticket = Ticket {
            lane: run.lane,
            memory_bytes: run.limits.memory_bytes,
            ..run.ticket
        };
        self.queue.admit(ticket).await
    }

    /// Runs a program for which the caller holds a permit, after this time in the queue.
    ///
    /// # Errors
    /// There is no result: the run cannot be executed, or the service failed.
    pub async fn run_admitted(
        &self,
        run: ProgramRun,
        queued: Duration,
    ) -> Result<ProgramReport, ProgramError> {
        self.run_now(run, queued, None).await
    }

    async fn run_now(
        &self,
        run: ProgramRun,
        queued: Duration,
        mut attachment: Option<Attachment>,
    ) -> Result<ProgramReport, ProgramError> {
        let begin = Instant::now();
        run.observe(Event::Started { queued }).await;
        let (compiled, program) = match &run.source {
            ProgramSource::Command(command) if command.is_empty() => {
                return Err(ProgramError::NoCommand);
            }
            ProgramSource::Command(_) => (None, None),
            ProgramSource::Program(program) => (None, Some(program.clone())),
            ProgramSource::Sources {
                runtime,
                files,
                entry,
                limits,
            } => {
                let compiled = self
                    .catalog
                    .compile(runtime, files.clone(), entry.clone(), *limits)
                    .await?;
                run.observe(Event::Compiled(compiled.clone())).await;
                let program = compiled.result.clone().ok();
                if program.is_none() {
                    return Ok(ProgramReport {
                        compiled: Some(compiled),
                        tests: Vec::new(),
                        queued,
                        setup: begin.elapsed(),
                        total: queued + begin.elapsed(),
                    });
                }
                (Some(compiled), program)
            }
        };
        let setup = begin.elapsed();
        let mut tests = Vec::with_capacity(run.tests.len());
        let mut stopped = false;
        for (index, test) in run.tests.iter().enumerate() {
            if stopped {
                tests.push(TestReport {
                    id: test.id.clone(),
                    report: None,
                    passed: None,
                });
                continue;
            }
            run.observe(Event::TestStarted { index }).await;
            let attachment = attachment.take();
            let report = self
                .run_test(&run, program.as_deref(), index, test, attachment)
                .await?;
            stopped = run.stop_on.stops(&report);
            if run.observer.is_some() {
                let report = report.clone();
                run.observe(Event::TestEnded { index, report }).await;
            }
            tests.push(report);
        }
        Ok(ProgramReport {
            compiled,
            tests,
            queued,
            setup,
            total: queued + begin.elapsed(),
        })
    }

    async fn run_test(
        &self,
        run: &ProgramRun,
        program: Option<&Program>,
        index: usize,
        test: &Test,
        attachment: Option<Attachment>,
    ) -> Result<TestReport, ProgramError> {
        let (live, forward) = run.live_output(index);
        let mut execution = run.execution(program, test, live);
        if let Some(Attachment::Terminal(_)) = &attachment {
            let policy = millibox::seccomp::profile_with_terminal();
            let world = execution.world.seccomp(&policy);
            execution.world = world.map_err(ExecutionError::Sandbox)?;
        }
        if let Some(attachment) = attachment {
            execution.streams.attach(attachment)?;
        }
        let executed = self.engine.execute(run.lane, execution);
        let (report, ()) = tokio::join!(executed, forward);
        let report = report?;
        let passed = test.expected.as_ref().map(|expected| {
            report.outcome == Outcome::Exited(0)
                && !report.stdout().is_truncated()
                && test.comparison.accepts(expected, &report.stdout().bytes)
        });
        Ok(TestReport {
            id: test.id.clone(),
            report: Some(report),
            passed,
        })
    }
}

impl Streams {
    fn attach(&mut self, attachment: Attachment) -> Result<(), ExecutionError> {
        match attachment {
            Attachment::Pipe(reader) => self.stdin = Input::Descriptor(reader),
            Attachment::Terminal(end) => {
                let copy = || {
                    end.try_clone()
                        .map_err(ExecutionError::system("copy the descriptor of a terminal"))
                };
                self.stdout = Output::Descriptor(copy()?);
                self.stderr = Output::Descriptor(copy()?);
                self.stdin = Input::Descriptor(end);
                self.terminal = true;
            }
        }
        Ok(())
    }
}

impl StopOn {
    fn stops(self, test: &TestReport) -> bool {
        let exited = |code: Option<i32>| {
            test.report
                .as_ref()
                .is_some_and(|report| match report.outcome {
                    Outcome::Exited(found) => code.is_none_or(|code| code == found),
                    _ => false,
                })
        };
        match self {
            StopOn::Never => false,
            StopOn::Failure => {
                test.passed != Some(true) && !(test.passed.is_none() && exited(Some(0)))
            }
            StopOn::Error => !exited(None),
        }
    }
}

impl ProgramRun {
    async fn observe(&self, event: Event) {
        if let Some(observer) = &self.observer {
            // An observer that has gone does not end the run.
            let _ = observer.send(event).await;
        }
    }

    /// Senders of live output, and the task that passes it on. Both are idle without an observer.
    fn live_output(
        &self,
        test: usize,
    ) -> ([Option<mpsc::Sender<Bytes>>; 2], impl Future<Output = ()>) {
        let mut senders = [None, None];
        let mut receivers = [None, None];
        if self.observer.is_some() {
            for (sender, receiver) in senders.iter_mut().zip(&mut receivers) {
                let (new_sender, new_receiver) = mpsc::channel(4);
                (*sender, *receiver) = (Some(new_sender), Some(new_receiver));
            }
        }
        let [stdout, stderr] = receivers;
        let forward = move |stream: u8, receiver: Option<mpsc::Receiver<Bytes>>| async move {
            let Some(mut receiver) = receiver else { return };
            while let Some(bytes) = receiver.recv().await {
                self.observe(Event::Output {
                    test,
                    stream,
                    bytes,
                })
                .await;
            }
        };
        let both = async move {
            tokio::join!(forward(1, stdout), forward(2, stderr));
        };
        (senders, both)
    }

    fn execution(
        &self,
        program: Option<&Program>,
        test: &Test,
        live: [Option<mpsc::Sender<Bytes>>; 2],
    ) -> Execution {
        let [live_stdout, live_stderr] = live;
        let limits = &self.limits;
        let mut env: Vec<(OsString, OsString)> = ENVIRONMENT
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        let mut set = |name: OsString, value: OsString| {
            env.retain(|(known, _)| *known != name);
            env.push((name, value));
        };
        let (mut argv, world, memory, processes) = match (program, &self.source) {
            (Some(program), _) => {
                let command = program.executable.command(limits.memory_bytes);
                for (name, value) in command.env {
                    set(name, value);
                }
                let executable = &program.executable;
                let memory = limits.memory_bytes.checked_add(executable.memory);
                let processes = limits.processes.saturating_add(executable.processes);
                let world = executable.world.clone();
                (command.argv, world, memory, processes)
            }
            (None, ProgramSource::Command(command)) => (
                command.clone(),
                command_world(),
                Some(limits.memory_bytes),
                limits.processes,
            ),
            // There is a program for all sources that are executed.
            (None, ProgramSource::Sources { .. } | ProgramSource::Program(_)) => {
                (Vec::new(), command_world(), Some(limits.memory_bytes), 1)
            }
        };
        for (name, value) in &self.env {
            set(name.clone(), value.clone());
        }
        argv.extend(self.args.iter().chain(&test.args).cloned());
        let mut files = self.files.clone();
        files.extend(self.sources_beside());
        let capture = |keep: Keep, live| {
            Output::Capture(Capture {
                max_bytes: keep.max_bytes,
                excess: keep.excess,
                live,
            })
        };
        Execution {
            program: argv.first().cloned().unwrap_or_default(),
            argv,
            env,
            world: with_temporary_directory(world, limits.work_bytes)
                .mount(work_directory(limits.work_bytes)),
            current_dir: WORK_DIRECTORY.into(),
            files,
            streams: Streams {
                stdin: test.stdin.clone().map_or(Input::Empty, Input::Content),
                stdout: capture(self.stdout, live_stdout),
                stderr: if self.stderr.into_stdout {
                    Output::SameAs(1)
                } else {
                    capture(self.stderr, live_stderr)
                },
                extra: Vec::new(),
                terminal: false,
            },
            outputs: self.outputs.clone(),
            limits: ExecutionLimits {
                cpu_time: Some(limits.cpu_time),
                real_time: Some(limits.real_time),
                memory_bytes: memory.filter(|memory| *memory < u64::MAX / 2),
                processes,
                file_bytes: Some(limits.file_bytes),
                open_files: Some(limits.open_files),
                stack_bytes: limits.stack_bytes,
                address_space_bytes: None,
                data_bytes: None,
            },
        }
    }

    /// Several sources lie in the working directory as well, because programs look there for the
    /// files that came with them.
    fn sources_beside(&self) -> Vec<InputFile> {
        match &self.source {
            ProgramSource::Sources { files, .. } if files.len() > 1 => files
                .iter()
                .map(|file| InputFile {
                    path: file.path.clone(),
                    content: InputContent::File {
                        content: Content::Bytes(file.bytes.clone()),
                        mode: 0o644,
                    },
                })
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// The system, read-only, with processes of the run in /proc.
pub fn command_world() -> World {
    World::minimal().mount(Mount::Proc {
        at: b"/proc".to_vec(),
        processes_only: true,
    })
}

/// The working directory: a tmpfs of this size.
pub fn work_directory(bytes: u64) -> Mount {
    work_directory_at(WORK_DIRECTORY, bytes)
}

/// A working directory at another path.
pub fn work_directory_at(path: &str, bytes: u64) -> Mount {
    Mount::Tmpfs {
        at: path.into(),
        size: Some(bytes),
        inodes: Some(MAX_WORK_INODES),
        mode: 0o777,
        read_only: false,
        no_exec: false,
    }
}

/// The world with a tmpfs of this size at /tmp, unless it has one already.
fn with_temporary_directory(world: World, bytes: u64) -> World {
    if world.mounts().iter().any(|mount| mount.path() == b"/tmp") {
        return world;
    }
    world.mount(Mount::Tmpfs {
        at: b"/tmp".to_vec(),
        size: Some(bytes),
        inodes: Some(MAX_WORK_INODES),
        mode: 0o1777,
        read_only: false,
        no_exec: false,
    })
}

/// A file of the working directory with the usual mode.
pub fn plain_file(path: impl Into<PathBuf>, bytes: impl Into<Bytes>) -> InputFile {
    InputFile {
        path: path.into(),
        content: InputContent::File {
            content: Content::Bytes(bytes.into()),
            mode: 0o644,
        },
    }
}

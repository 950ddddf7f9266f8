//! A program run on one or several inputs: compiled once, then one execution for each test.
//!
//! This file defines the request, the events and the answer. `programs` carries out the request: it
//! admits the run, compiles the program and executes the tests in order. `environment` decides what
//! a program finds in its sandbox, and turns one test into an
//! [`Execution`](super::execution::Execution). `keep` bounds the output of all tests together.

mod environment;
mod keep;
mod programs;

pub use environment::{
    ENVIRONMENT, WORK_DIRECTORY, command_world, plain_file, usual_world, with_temporary_directory,
    work_directory_at,
};
pub use programs::Programs;

use super::budget::MAX_RENDERED_BYTES;
use super::catalog::{CatalogError, CompileLimits, Compiled, Program, Runtime, SourceFile};
use super::compare::Comparison;
use super::engine::Lane;
use super::execution::{
    Blame, Content, Excess, ExecutionError, ExecutionReport, InputFile, OutputFile,
};
use super::plan::{Plan, archive_bytes, outputs_bytes, stdin_bytes};
use super::queue::{Held, Refusal, Ticket};
use super::workspace::check_files;
use bytes::Bytes;
use millibox_languages::compile::CompileError;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// A program and the inputs to run it on.
#[derive(Debug, Clone)]
pub struct ProgramRun {
    /// How the run is admitted. Its lane and its memory are those of the run.
    pub ticket: Ticket,
    /// Where the program is executed.
    pub lane: Lane,
    /// The program to run.
    pub source: ProgramSource,
    /// Arguments of the program, for all tests.
    pub args: Vec<OsString>,
    /// Variables that are added to the environment or replace others.
    pub env: Vec<(OsString, OsString)>,
    /// Files in the working directory, in addition to sources.
    pub files: Vec<InputFile>,
    /// The inputs, at least one.
    pub tests: Vec<Test>,
    /// When the remaining tests are skipped.
    pub stop_on: StopOn,
    /// The limits of each test.
    pub limits: RunLimits,
    /// Files that are returned after each test.
    pub outputs: Vec<OutputFile>,
    /// Maximum number of bytes of the output of all tests that the report keeps.
    pub answer_bytes: u64,
    /// Whether the report keeps only the output of the last test.
    pub keeps_last: bool,
    /// How standard output is kept.
    pub stdout: Keep,
    /// How standard error is kept.
    pub stderr: Keep,
    /// Whether the run of each test is traced and explained.
    pub explained: bool,
    /// Observes the run.
    pub observer: Option<mpsc::Sender<Event>>,
}

/// The program to run.
#[derive(Debug, Clone)]
pub enum ProgramSource {
    /// Sources of a language.
    Sources {
        /// The language.
        runtime: Arc<Runtime>,
        /// The sources.
        files: Vec<Source>,
        /// The main source or class, if there are several.
        entry: Option<String>,
        /// Limits of the compiler.
        limits: CompileLimits,
        /// Whether an interpreter that only runs sources checks them before the first test.
        /// Otherwise it reports a syntax error in each test.
        is_checked: bool,
    },
    /// A program of the system: its path or a name to look up, and its arguments.
    Command(Vec<OsString>),
    /// A program that [`Catalog::compile`] or [`Catalog::script`] has returned. The files of the
    /// run contain the source of a script.
    ///
    /// [`Catalog::compile`]: super::catalog::Catalog::compile
    /// [`Catalog::script`]: super::catalog::Catalog::script
    Program(Arc<Program>),
}

/// A source of a program.
#[derive(Debug, Clone)]
pub struct Source {
    /// Relative, without `..`.
    pub path: PathBuf,
    pub content: Content,
}

impl From<SourceFile> for Source {
    fn from(file: SourceFile) -> Source {
        Source {
            path: file.path,
            content: Content::Bytes(file.bytes),
        }
    }
}

/// One input of a program.
#[derive(Debug, Clone, Default)]
pub struct Test {
    /// The name that the caller has given to the test.
    pub id: String,
    /// Standard input; `None` is empty.
    pub stdin: Option<Content>,
    /// Further arguments.
    pub args: Vec<OsString>,
    /// The output to compare with.
    pub expected: Option<Content>,
    /// How it is compared.
    pub comparison: Comparison,
}

/// When the remaining tests of a run are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StopOn {
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
    /// Memory of the program, in bytes; the memory that its runtime needs is added.
    pub memory_bytes: u64,
    /// Processes and threads of the program; those of its runtime are added.
    pub processes: u32,
    /// The size of each file that the program writes, in bytes.
    pub file_bytes: u64,
    /// Maximum size of all files in the working directory, in bytes.
    pub work_bytes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// Stack of one process in bytes; `None` means as large as memory allows.
    pub stack_bytes: Option<u64>,
}

/// How an output stream is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Maximum number of bytes that are kept.
    pub max_bytes: u64,
    /// What happens to a program that writes more.
    pub excess: Excess,
    /// Whether the stream is merged into standard output, in the order of writing.
    pub into_stdout: bool,
}

/// The connection between a program and a client, in place of the program's standard input.
#[derive(Debug)]
pub enum Attachment {
    /// The read end of a pipe.
    Pipe(OwnedFd),
    /// The program's end of a terminal, which also receives the program's output. This output is
    /// not captured.
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
    /// The program was compiled, or could not be compiled.
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
    /// Time until the first test began, including compilation.
    pub setup: Duration,
    /// Time from the request to the result.
    pub total: Duration,
    /// The memory that the report and its answer occupy. It must be kept until the answer is sent.
    pub held: Arc<Held>,
}

/// The result of one test.
#[derive(Debug, Clone)]
pub struct TestReport {
    /// The name that the caller has given to the test.
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
    /// The run was not admitted; nothing ran.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The request cannot be compiled.
    #[error(transparent)]
    Catalog(CatalogError),
    /// A test could not be executed.
    #[error(transparent)]
    Execution(#[from] ExecutionError),
    /// The command is empty.
    #[error("a command needs at least the name of a program")]
    NoCommand,
}

impl From<CatalogError> for ProgramError {
    fn from(error: CatalogError) -> ProgramError {
        match error {
            CatalogError::Preparing(refusal) => ProgramError::Refused(refusal),
            error => ProgramError::Catalog(error),
        }
    }
}

impl ProgramError {
    /// The party at fault.
    pub fn blame(&self) -> Blame {
        match self {
            ProgramError::Catalog(error) if error.is_service_failure() => Blame::Service,
            ProgramError::Refused(refusal) if refusal.is_final() => Blame::Request,
            ProgramError::Catalog(_) | ProgramError::NoCommand => Blame::Request,
            ProgramError::Refused(_) => Blame::Service,
            ProgramError::Execution(error) => error.blame(),
        }
    }
}

impl ProgramRun {
    /// Checks that the files fit into the working directory.
    ///
    /// # Errors
    /// There are too many, or they are too large together.
    pub fn check(&self) -> Result<(), ExecutionError> {
        let mut files = self.files.clone();
        files.extend(self.sources_beside());
        check_files(&files, self.limits.work_bytes).map_err(ExecutionError::Files)
    }

    /// The bytes of output that the service keeps while one test runs.
    fn test_bytes(&self) -> u64 {
        let stderr = match self.stderr.into_stdout {
            true => 0,
            false => self.stderr.max_bytes,
        };
        outputs_bytes(&self.outputs, self.answer_bytes)
            .saturating_add(self.stdout.max_bytes)
            .saturating_add(stderr)
    }

    /// The memory of the service that the run may need: the request, its sources, the files, the
    /// largest input and expected output, the output of the running test, and the answer with its
    /// rendered form.
    pub fn plan(&self) -> Plan {
        let sources = match &self.source {
            ProgramSource::Sources { files, .. } => files
                .iter()
                .map(|file| file.content.bytes())
                .fold(0, u64::saturating_add),
            ProgramSource::Command(_) | ProgramSource::Program(_) => 0,
        };
        let largest = |size: fn(&Test) -> u64| self.tests.iter().map(size).max().unwrap_or(0);
        let test = self.test_bytes();
        let kept = match self.keeps_last {
            true => 1,
            false => self.tests.len() as u64,
        };
        let kept = test.saturating_mul(kept);
        let rendered = kept.saturating_mul(MAX_RENDERED_BYTES);
        let rendered = rendered.min(self.answer_bytes.max(test));
        let kept = kept.min(rendered);
        Plan::default()
            .plus(self.ticket.size_bytes)
            .plus(sources)
            .plus_inputs(archive_bytes(&self.files))
            .plus_inputs(archive_bytes(&self.sources_beside()))
            .plus_inputs(largest(|test| stdin_bytes(test.stdin.as_ref())))
            .plus_inputs(largest(|test| {
                test.expected.as_ref().map_or(0, Content::bytes)
            }))
            .plus(test)
            // As bytes, as text, and in an answer that grows.
            .plus(kept.saturating_mul(2))
            .plus(rendered.saturating_mul(2))
    }
}

/// The party at fault if there is no program.
pub fn compile_blame(error: &CompileError) -> Blame {
    match error {
        CompileError::Refused(_) | CompileError::Limit(_) => Blame::Program,
        CompileError::Unavailable(_) => Blame::Request,
        _ => Blame::Service,
    }
}

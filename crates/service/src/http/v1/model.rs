//! The documents of requests and answers.

use crate::config::LimitValues;
use crate::core::catalog;
use crate::core::execution::{Blame, Captured, ExecutionReport, run_error};
use crate::core::program::{ProgramReport, TestReport, compile_blame};
use crate::http::problem::Problem;
use crate::metrics::outcome_name;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use millibox::Figures;
use millibox_languages::compile::CompileError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use utoipa::ToSchema;

/// A program and its inputs. Either `runtime` with `files`, or `command`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunRequest {
    /// The name or alias of a runtime, such as `python` or `c++17`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// A program of the system and its arguments, in place of a runtime.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Files of the program by path. With a runtime, those with its extensions are sources.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, Blob>,
    /// The main source or class, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// Arguments of the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Variables that are added to the environment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Limits of the compiler.
    pub compile: CompileRequest,
    /// Standard input, if there is one test without a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<Blob>,
    /// The inputs, in place of `stdin`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<TestRequest>,
    /// When the remaining tests are skipped.
    pub stop_on: StopOn,
    /// Limits of each test.
    pub limits: LimitRequest,
    /// Files of the working directory that are returned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// How outputs are returned.
    pub stdout: OutputForm,
    /// How long the request may wait in the queue, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_ms: Option<u64>,
    /// Returned unchanged; at most 256 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// Bytes: as text, as Base64, or by the SHA-256 of a stored file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Blob {
    /// UTF-8 text.
    Text(String),
    /// Any bytes in Base64.
    Base64(String),
    /// A file that was stored before.
    Sha256(String),
}

/// Limits of the compiler.
#[derive(Debug, Clone, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CompileRequest {
    /// CPU time in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// Memory in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

/// One input.
#[derive(Debug, Clone, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TestRequest {
    /// The caller's name for the test; its number by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<Blob>,
    /// Further arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The output to compare with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Blob>,
    /// `exact`, `trim` (the default), `tokens` or `float:TOLERANCE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compare: Option<String>,
}

/// When the remaining tests are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StopOn {
    /// Never.
    #[default]
    Never,
    /// After the first test that did not pass.
    Failure,
    /// After the first test that did not exit normally.
    Error,
}

/// How outputs are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputForm {
    /// Text if it is UTF-8, otherwise Base64.
    #[default]
    Text,
    /// Base64.
    Base64,
    /// Not at all: only sizes.
    Discard,
}

/// Limits of a request; those that are absent have the service's defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LimitRequest {
    /// CPU time in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// Real time in milliseconds; by default twice the CPU time and a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// Memory in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Processes and threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// Bytes that are kept of standard output, and as many of standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// Bytes of all files that the program writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_bytes: Option<u64>,
    /// Open files of one process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
}

impl LimitRequest {
    /// The limits with the service's defaults.
    ///
    /// # Errors
    /// A limit is above the largest one.
    pub fn with_defaults(
        &self,
        default: &LimitValues,
        max: &LimitValues,
    ) -> Result<LimitValues, Problem> {
        let check = |field: &str, value: Option<u64>, default: u64, max: u64| match value {
            Some(value) if value > max => {
                Err(Problem::above_limit(&format!("limits.{field}"), value, max))
            }
            Some(0) => Err(Problem::impossible(
                &format!("limits.{field}"),
                format!("limits.{field} is 0; it must be at least 1"),
            )),
            Some(value) => Ok(value),
            None => Ok(default.min(max)),
        };
        let cpu_ms = check("cpu_ms", self.cpu_ms, default.cpu_ms, max.cpu_ms)?;
        let wall_default = match self.cpu_ms {
            Some(cpu_ms) => cpu_ms.saturating_mul(2).saturating_add(1000),
            None => default.wall_ms,
        };
        let processes = check(
            "processes",
            self.processes.map(u64::from),
            default.processes.into(),
            max.processes.into(),
        )?;
        Ok(LimitValues {
            cpu_ms,
            wall_ms: check("wall_ms", self.wall_ms, wall_default, max.wall_ms)?,
            memory_bytes: check(
                "memory_bytes",
                self.memory_bytes,
                default.memory_bytes,
                max.memory_bytes,
            )?,
            processes: u32::try_from(processes).unwrap_or(max.processes),
            output_bytes: check(
                "output_bytes",
                self.output_bytes,
                default.output_bytes,
                max.output_bytes,
            )?,
            files_bytes: check(
                "files_bytes",
                self.files_bytes,
                default.files_bytes,
                max.files_bytes,
            )?,
            open_files: check(
                "open_files",
                self.open_files,
                default.open_files,
                max.open_files,
            )?,
        })
    }
}

/// What came of a run.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RunAnswer {
    /// The number of the run.
    pub id: String,
    /// `queued`, `running` or `ended`.
    pub state: RunState,
    /// The label of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What came of compiling; `null` for commands.
    pub compile: Option<CompileAnswer>,
    /// What came of each test, in the order of the request.
    pub tests: Vec<TestAnswer>,
    /// Where the time went.
    pub timing: Timing,
    /// The runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It waits.
    Queued,
    /// It runs.
    Running,
    /// It has ended.
    Ended,
}

/// What came of compiling.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CompileAnswer {
    /// `compiled`, `rejected`, `limit`, `unavailable` or `failed`.
    pub outcome: String,
    /// Whose fault it is that there is no program.
    pub blame: BlameName,
    /// The messages of the compiler.
    pub messages: String,
    /// The reason why there is no program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The program was compiled before.
    pub from_cache: bool,
    /// CPU time of the compiler in milliseconds.
    pub cpu_ms: f64,
    /// Real time of the compiler in milliseconds.
    pub wall_ms: f64,
    /// Memory of the compiler in bytes.
    pub memory_bytes: u64,
}

/// What came of one test.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TestAnswer {
    /// The name of the test.
    pub id: String,
    /// `exited`, `signaled`, `cpu_time_limit`, `real_time_limit`, `memory_limit`, `output_limit`,
    /// `not_started`, `killed`, `cancelled`, `sandbox_error` or `skipped`.
    pub outcome: String,
    /// Whose fault it is if the test did not succeed. Only `program` may count against a program.
    pub blame: BlameName,
    /// Whether the program exited with 0 and wrote what was expected; `null` if nothing was
    /// expected.
    pub passed: Option<bool>,
    /// The exit code, if the program exited.
    pub exit_code: Option<i32>,
    /// The signal that ended the program, if one did.
    pub signal: Option<i32>,
    /// CPU time of all processes in milliseconds.
    pub cpu_ms: f64,
    /// Real time in milliseconds.
    pub wall_ms: f64,
    /// Peak memory of all processes in bytes.
    pub memory_bytes: u64,
    /// Standard output.
    pub stdout: OutputAnswer,
    /// Standard error.
    pub stderr: OutputAnswer,
    /// Returned files by path.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, FileAnswer>,
    /// The reason if the program was not started or the sandbox failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Whose fault it is that a run did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BlameName {
    /// The program.
    Program,
    /// The request.
    Request,
    /// The service.
    Service,
}

impl From<Blame> for BlameName {
    fn from(blame: Blame) -> BlameName {
        match blame {
            Blame::Program => BlameName::Program,
            Blame::Request => BlameName::Request,
            Blame::Service => BlameName::Service,
        }
    }
}

/// An output stream.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OutputAnswer {
    /// The bytes as text, if they are UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes in Base64, if they are not UTF-8 or Base64 was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// Bytes that the program wrote.
    pub bytes: u64,
    /// Not all bytes are returned.
    pub truncated: bool,
}

/// A returned file.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct FileAnswer {
    /// The content as text, if it is UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The content in Base64 otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// The reason why the file is not returned, or not in whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Where the time of a run went, in milliseconds.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct Timing {
    /// In the queue.
    pub queued_ms: f64,
    /// From the queue to the first test, compiling included.
    pub setup_ms: f64,
    /// From the request to the answer.
    pub total_ms: f64,
}

/// A runtime.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Runtime {
    /// The unique name.
    pub id: String,
    /// The language, which its variants share.
    pub language: String,
    /// The name for people.
    pub title: String,
    /// The version of the compiler or interpreter.
    pub version: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// Whether a program file is compiled from the sources.
    pub compiled: bool,
    /// The file name of a single source.
    pub file_name: String,
    /// Extensions of sources, without the dot.
    pub extensions: Vec<String>,
}

impl From<&catalog::Runtime> for Runtime {
    fn from(runtime: &catalog::Runtime) -> Runtime {
        Runtime {
            id: runtime.name.clone(),
            language: runtime.language.clone(),
            title: runtime.title.clone(),
            version: runtime.version.clone().unwrap_or_default(),
            aliases: runtime.aliases.clone(),
            compiled: runtime.is_compiled,
            file_name: runtime.file_name.clone(),
            extensions: runtime.extensions.clone(),
        }
    }
}

/// The service.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Info {
    /// The version of millibox.
    pub version: String,
    /// How runs are limited: `cgroup2`, `hybrid` or `rlimit`.
    pub backend: String,
    /// Seconds since the start.
    pub uptime_s: u64,
    /// Requests whose CPU time is limited and that run.
    pub running: usize,
    /// Their bound.
    pub max_running: usize,
    /// Requests whose real time is limited and that run.
    pub running_real_time: usize,
    /// Their bound.
    pub max_running_real_time: usize,
    /// The sum of the memory limits of running requests.
    pub running_memory_bytes: u64,
    /// Its bound.
    pub max_running_memory_bytes: u64,
    /// Requests that wait.
    pub queued: usize,
    /// Requests that wait at most.
    pub max_queued: usize,
    /// The sum of the sizes of waiting requests.
    pub queued_bytes: u64,
    /// Its bound.
    pub max_queued_bytes: u64,
    /// Limits of a request that names none.
    pub default_limits: LimitSet,
    /// The largest limits.
    pub max_limits: LimitSet,
    /// The largest body of a request.
    pub max_body_bytes: usize,
    /// Dialects that this service speaks.
    pub dialects: Vec<String>,
}

/// All limits.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct LimitSet {
    /// CPU time in milliseconds.
    pub cpu_ms: u64,
    /// Real time in milliseconds.
    pub wall_ms: u64,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Processes and threads.
    pub processes: u32,
    /// Bytes that are kept of standard output, and as many of standard error.
    pub output_bytes: u64,
    /// Bytes of all files that the program writes.
    pub files_bytes: u64,
    /// Open files of one process.
    pub open_files: u64,
}

impl From<&LimitValues> for LimitSet {
    fn from(values: &LimitValues) -> LimitSet {
        let LimitValues {
            cpu_ms,
            wall_ms,
            memory_bytes,
            processes,
            output_bytes,
            files_bytes,
            open_files,
        } = *values;
        LimitSet {
            cpu_ms,
            wall_ms,
            memory_bytes,
            processes,
            output_bytes,
            files_bytes,
            open_files,
        }
    }
}

/// Milliseconds with a fraction.
pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn figures(figures: &Figures) -> (f64, f64, u64) {
    let nanoseconds = |value: u64| milliseconds(Duration::from_nanos(value));
    (
        nanoseconds(figures.cpu_user_ns + figures.cpu_system_ns),
        nanoseconds(figures.real_time_ns),
        figures.peak_memory_bytes,
    )
}

/// Text if the bytes are UTF-8 and text is wanted; otherwise Base64.
fn text_or_base64(bytes: &Bytes, form: OutputForm) -> (Option<String>, Option<String>) {
    let base64 = || Some(BASE64.encode(bytes));
    match form {
        OutputForm::Discard => (None, None),
        OutputForm::Base64 => (None, base64()),
        OutputForm::Text => match std::str::from_utf8(bytes) {
            Ok(text) => (Some(text.to_owned()), None),
            Err(_) => (None, base64()),
        },
    }
}

impl OutputAnswer {
    /// An output in a form.
    pub fn new(captured: &Captured, form: OutputForm) -> OutputAnswer {
        let (text, base64) = text_or_base64(&captured.bytes, form);
        OutputAnswer {
            text,
            base64,
            bytes: captured.total,
            truncated: captured.is_truncated(),
        }
    }
}

impl TestAnswer {
    /// The answer of a test.
    pub fn new(test: &TestReport, form: OutputForm) -> TestAnswer {
        match &test.report {
            Some(report) => TestAnswer::of_report(test, report, form),
            None => TestAnswer {
                id: test.id.clone(),
                outcome: "skipped".to_owned(),
                blame: BlameName::Request,
                passed: None,
                exit_code: None,
                signal: None,
                cpu_ms: 0.0,
                wall_ms: 0.0,
                memory_bytes: 0,
                stdout: OutputAnswer::new(&Captured::default(), form),
                stderr: OutputAnswer::new(&Captured::default(), form),
                outputs: BTreeMap::new(),
                error: None,
            },
        }
    }

    fn of_report(test: &TestReport, report: &ExecutionReport, form: OutputForm) -> TestAnswer {
        let (cpu_ms, wall_ms, memory_bytes) = figures(&report.figures);
        let outputs = report.outputs.iter().map(|file| {
            let (text, base64) = text_or_base64(&file.bytes, OutputForm::Text);
            let is_read = file.error.is_none() || !file.bytes.is_empty();
            let answer = FileAnswer {
                text: text.filter(|_| is_read),
                base64,
                error: file.error.as_ref().map(ToString::to_string),
            };
            (file.path.display().to_string(), answer)
        });
        TestAnswer {
            id: test.id.clone(),
            outcome: outcome_name(&report.outcome).to_owned(),
            blame: report.blame().into(),
            passed: test.passed,
            exit_code: report.exit_code,
            signal: report.signal,
            cpu_ms,
            wall_ms,
            memory_bytes,
            stdout: OutputAnswer::new(report.stdout(), form),
            stderr: OutputAnswer::new(report.stderr(), form),
            outputs: outputs.collect(),
            error: run_error(&report.outcome).map(ToString::to_string),
        }
    }
}

impl CompileAnswer {
    /// The answer of a compilation.
    pub fn new(compiled: &catalog::Compiled) -> CompileAnswer {
        let (outcome, blame) = match &compiled.result {
            Ok(_) => ("compiled", Blame::Program),
            Err(error) => {
                let outcome = match error {
                    CompileError::Refused(_) => "rejected",
                    CompileError::Limit(_) => "limit",
                    CompileError::Unavailable(_) => "unavailable",
                    _ => "failed",
                };
                (outcome, compile_blame(error))
            }
        };
        let (cpu_ms, wall_ms, memory_bytes) =
            compiled.figures.as_ref().map(figures).unwrap_or_default();
        CompileAnswer {
            outcome: outcome.to_owned(),
            blame: blame.into(),
            messages: compiled.messages.clone(),
            error: compiled.result.as_ref().err().map(ToString::to_string),
            from_cache: compiled.from_cache,
            cpu_ms,
            wall_ms,
            memory_bytes,
        }
    }
}

impl RunAnswer {
    /// The answer of a run that has ended.
    pub fn ended(
        id: String,
        label: Option<String>,
        runtime: Option<String>,
        report: &ProgramReport,
        form: OutputForm,
    ) -> RunAnswer {
        RunAnswer {
            id,
            state: RunState::Ended,
            label,
            compile: report.compiled.as_ref().map(CompileAnswer::new),
            tests: report
                .tests
                .iter()
                .map(|test| TestAnswer::new(test, form))
                .collect(),
            timing: Timing {
                queued_ms: milliseconds(report.queued),
                setup_ms: milliseconds(report.setup),
                total_ms: milliseconds(report.total),
            },
            runtime,
        }
    }
}

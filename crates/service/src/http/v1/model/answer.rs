//! The JSON documents of answers.

use super::explain::ExplainAnswer;
use super::request::OutputForm;
use crate::core::catalog;
use crate::core::execution::{Blame, Captured, ExecutionReport, run_error};
use crate::core::program::{ProgramReport, TestReport, compile_blame};
use crate::http::problem::ProblemDetails;
use crate::metrics::outcome_name;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use millibox::{Figures, Start};
use millibox_languages::compile::CompileError;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use utoipa::ToSchema;

/// The result of a run.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RunAnswer {
    /// The id of the run.
    pub id: String,
    /// `queued`, `running` or `ended`.
    pub state: RunState,
    /// The label of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The result of compiling; `null` for commands.
    pub compile: Option<CompileAnswer>,
    /// The result of each test, in the order of the request.
    pub tests: Vec<TestAnswer>,
    /// The time that each phase took.
    pub timing: Timing,
    /// How many times the run was started: 2 if the sandbox failed the first time.
    pub attempts: u32,
    /// The runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// The reason why the run has no results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ProblemDetails>,
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

/// The result of compiling.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CompileAnswer {
    /// `compiled`, `rejected`, `limit`, `unavailable` or `failed`.
    pub outcome: String,
    /// The party at fault if there is no program.
    pub blame: BlameName,
    /// The messages of the compiler.
    pub messages: String,
    /// The reason why there is no program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether the program had been compiled before.
    pub from_cache: bool,
    /// CPU time of the compiler in milliseconds.
    pub cpu_ms: f64,
    /// Real time of the compiler in milliseconds.
    pub wall_ms: f64,
    /// Memory of the compiler in bytes.
    pub memory_bytes: u64,
}

/// The result of one test.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TestAnswer {
    /// The name of the test.
    pub id: String,
    /// `exited`, `signaled`, `cpu_time_limit`, `real_time_limit`, `memory_limit`, `output_limit`,
    /// `not_started`, `killed`, `cancelled`, `sandbox_error` or `skipped`.
    pub outcome: String,
    /// The party at fault if the test did not succeed. Only `program` may count against a program.
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
    /// Whether the program is a copy of a prepared interpreter.
    pub prepared: bool,
    /// Returned files by path.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, FileAnswer>,
    /// The reason if the program was not started or the sandbox failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the program lacked, if the request asked for it. If this field is present, the run was
    /// traced, and its figures must not be used for judging.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<ExplainAnswer>,
}

/// The party at fault if a run did not succeed.
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
    /// The bytes in Base64, if they are not UTF-8 or Base64 was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// Number of bytes that the program wrote.
    pub bytes: u64,
    /// Whether some of the bytes are not returned.
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
    /// The reason why the file is not returned, or only in part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How long each phase of a run took, in milliseconds.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct Timing {
    /// The time in the queue.
    pub queued_ms: f64,
    /// The time from the queue to the first test, including compilation.
    pub setup_ms: f64,
    /// The time from the request to the answer.
    pub total_ms: f64,
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

/// Text if the bytes are UTF-8 and text was requested; otherwise Base64.
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
    /// Renders an output in the requested form.
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
    /// The answer for a test.
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
                prepared: false,
                outputs: BTreeMap::new(),
                error: None,
                explain: None,
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
            prepared: matches!(report.start, Start::Prepared { .. }),
            outputs: outputs.collect(),
            error: run_error(&report.outcome).map(ToString::to_string),
            explain: report.explanation.as_deref().map(ExplainAnswer::new),
        }
    }
}

impl CompileAnswer {
    /// The answer for a compilation.
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
    /// The answer for a run that has ended.
    pub fn ended(
        id: String,
        label: Option<String>,
        runtime: Option<String>,
        report: &ProgramReport,
        form: OutputForm,
    ) -> RunAnswer {
        let reports = report.tests.iter().filter_map(|test| test.report.as_ref());
        let attempts = reports.map(|report| report.attempts);
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
            attempts: attempts.max().unwrap_or(1),
            runtime,
            error: None,
        }
    }
}

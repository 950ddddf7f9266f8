//! The JSON documents of requests and answers.

use super::fields::{Fields, Invalid};
use crate::config::{LimitValues, SandboxFusionConfig};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::Duration;

const DEFAULT_COMPILE_TIMEOUT: Duration = Duration::from_secs(10);
const DEFAULT_RUN_TIMEOUT: Duration = Duration::from_secs(10);
const DEFAULT_TOTAL_TIMEOUT: Duration = Duration::from_secs(45);
const KERNELS: [&str; 2] = ["python3", "python"];

/// A request of `POST /run_code`.
#[derive(Debug, Clone, PartialEq)]
pub struct RunCodeRequest {
    /// The source of the program.
    pub code: String,
    /// The name of the language.
    pub language: String,
    /// Standard input; empty if the request has none.
    pub stdin: Bytes,
    /// The time that the compiler may take.
    pub compile_timeout: Duration,
    /// The time from the start of the program to its end.
    pub run_timeout: Duration,
    /// The memory limit, the files for the run, and the files to return.
    pub surroundings: Surroundings,
}

/// A request of `POST /run_jupyter`.
#[derive(Debug, Clone, PartialEq)]
pub struct RunJupyterRequest {
    /// Python sources that are executed one after another.
    pub cells: Vec<String>,
    /// The time that all cells may take.
    pub total_timeout: Duration,
    /// Memory, files in and files out.
    pub surroundings: Surroundings,
}

/// The fields that both kinds of requests have.
#[derive(Debug, Clone, PartialEq)]
pub struct Surroundings {
    /// The memory limit in bytes; `None` if the request does not specify one.
    pub memory_bytes: Option<u64>,
    /// Files for the run, by path.
    pub files: Vec<(String, Bytes)>,
    /// Paths of files that are returned.
    pub fetch_files: Vec<String>,
}

impl RunCodeRequest {
    /// Reads a request. Unknown keys are ignored.
    ///
    /// # Errors
    /// All errors in the request.
    pub fn parse(body: &[u8]) -> Result<RunCodeRequest, Vec<Invalid>> {
        let mut fields = Fields::parse(body)?;
        let code = fields.string("code");
        let language = fields.string("language");
        let stdin = fields.optional_string("stdin");
        let compile_timeout = fields.seconds("compile_timeout", DEFAULT_COMPILE_TIMEOUT);
        let run_timeout = fields.seconds("run_timeout", DEFAULT_RUN_TIMEOUT);
        let surroundings = Surroundings::read(&mut fields);
        fields.finish(RunCodeRequest {
            code,
            language,
            stdin: stdin.unwrap_or_default().into(),
            compile_timeout,
            run_timeout,
            surroundings,
        })
    }

    /// Compares the request with the largest limits.
    ///
    /// # Errors
    /// A limit of the request is larger than its maximum.
    pub fn check(&self, max: &LimitValues) -> Result<(), Vec<Invalid>> {
        let mut invalid = Vec::new();
        invalid.extend(time_above(max, "compile_timeout", self.compile_timeout));
        invalid.extend(time_above(max, "run_timeout", self.run_timeout));
        invalid.extend(self.surroundings.memory_above(max));
        none_or(invalid)
    }
}

impl RunJupyterRequest {
    /// Reads a request. Unknown keys are ignored.
    ///
    /// # Errors
    /// All errors in the request.
    pub fn parse(body: &[u8]) -> Result<RunJupyterRequest, Vec<Invalid>> {
        let mut fields = Fields::parse(body)?;
        let cells = fields.required_strings("cells");
        // Upstream reads this timeout and does not use it.
        fields.number("cell_timeout");
        let total_timeout = fields.seconds("total_timeout", DEFAULT_TOTAL_TIMEOUT);
        let kernel = fields.optional_string("kernel");
        if let Some(kernel) = kernel.filter(|name| !KERNELS.contains(&name.as_str())) {
            fields.reject(Invalid::literal("kernel", kernel.into(), &["python3"]));
        }
        let surroundings = Surroundings::read(&mut fields);
        fields.finish(RunJupyterRequest {
            cells,
            total_timeout,
            surroundings,
        })
    }

    /// Compares the request with the largest limits.
    ///
    /// # Errors
    /// A limit of the request is larger than its maximum.
    pub fn check(&self, max: &LimitValues) -> Result<(), Vec<Invalid>> {
        let mut invalid = Vec::new();
        invalid.extend(time_above(max, "total_timeout", self.total_timeout));
        invalid.extend(self.surroundings.memory_above(max));
        none_or(invalid)
    }
}

impl Surroundings {
    fn read(fields: &mut Fields) -> Surroundings {
        Surroundings {
            memory_bytes: fields.mebibytes("memory_limit_MB"),
            files: fields.files("files"),
            fetch_files: fields.strings("fetch_files"),
        }
    }

    /// The memory limit; for requests that do not specify one, the configured limit.
    pub fn memory(&self, config: &SandboxFusionConfig, max: &LimitValues) -> u64 {
        self.memory_bytes
            .unwrap_or_else(|| config.memory_bytes.min(max.memory_bytes))
    }

    fn memory_above(&self, max: &LimitValues) -> Option<Invalid> {
        let bytes = self.memory_bytes?;
        (bytes > max.memory_bytes).then(|| {
            let field = "memory_limit_MB";
            Invalid::above(field, bytes >> 20, max.memory_bytes >> 20, "memory_bytes")
        })
    }
}

fn time_above(max: &LimitValues, field: &str, time: Duration) -> Option<Invalid> {
    (time > Duration::from_millis(max.wall_ms)).then(|| {
        let seconds = time.as_secs_f64();
        Invalid::above(field, seconds, max.wall_ms as f64 / 1e3, "wall_ms")
    })
}

fn none_or(invalid: Vec<Invalid>) -> Result<(), Vec<Invalid>> {
    if invalid.is_empty() {
        Ok(())
    } else {
        Err(invalid)
    }
}

/// The result of a whole request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum RunStatus {
    /// Every stage exited with 0.
    Success,
    /// A stage failed or timed out.
    Failed,
    /// The sandbox failed.
    SandboxError,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum CommandStatus {
    /// The process exited, or a signal ended it.
    Finished,
    /// It exceeded its time limit.
    TimeLimitExceeded,
}

/// The result of a compiler or a program.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommandResult {
    /// How it ended.
    pub status: CommandStatus,
    /// Seconds from start to end.
    pub execution_time: f64,
    /// The exit code, or the negated number of a signal; `None` after a timeout.
    pub return_code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl CommandResult {
    /// Whether the command exited with 0.
    pub fn is_success(&self) -> bool {
        self.status == CommandStatus::Finished && self.return_code == Some(0)
    }
}

impl RunStatus {
    /// The status of a request with these stages.
    pub fn of<'r>(mut stages: impl Iterator<Item = &'r CommandResult>) -> RunStatus {
        if stages.all(CommandResult::is_success) {
            RunStatus::Success
        } else {
            RunStatus::Failed
        }
    }
}

/// The answer of `POST /run_code`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunCodeAnswer {
    /// The result as a whole.
    pub status: RunStatus,
    /// Why the sandbox failed; empty otherwise.
    pub message: String,
    /// The result of the compiler; `None` if the language has none.
    pub compile_result: Option<CommandResult>,
    /// The result of the program; `None` if compiling failed.
    pub run_result: Option<CommandResult>,
    /// Always `None`.
    pub executor_pod_name: Option<String>,
    /// The requested files that exist, in Base64.
    pub files: BTreeMap<String, String>,
}

/// The result of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// What the cell wrote to standard output.
    pub(super) stdout: String,
    /// What the cell wrote to standard error.
    pub(super) stderr: String,
    /// Displayed values by media type, including that of the last expression.
    pub(super) display: Vec<Map<String, Value>>,
    /// The exception that ended the cell, if there was one.
    pub(super) error: Vec<CellError>,
}

/// An exception that ended a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellError {
    pub(super) ename: String,
    pub(super) evalue: String,
    pub(super) traceback: Vec<String>,
}

/// The answer of `POST /run_jupyter`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunJupyterAnswer {
    /// The result as a whole.
    pub status: RunStatus,
    /// Why the sandbox failed; empty otherwise.
    pub message: String,
    /// The result of the process that executed the cells.
    pub driver: Option<CommandResult>,
    /// The results of the cells.
    pub cells: Vec<Cell>,
    /// Always `None`.
    pub executor_pod_name: Option<String>,
    /// The requested files that exist, in Base64.
    pub files: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kinds(body: &serde_json::Value) -> Vec<(String, String)> {
        let invalid = RunCodeRequest::parse(body.to_string().as_bytes()).unwrap_err();
        let pair = |invalid: Invalid| (invalid.kind.to_owned(), invalid.field());
        invalid.into_iter().map(pair).collect()
    }

    #[test]
    fn request_of_verl_is_read() {
        let body = json!({
            "compile_timeout": 10, "run_timeout": 10, "code": "print(1)", "stdin": "1\n",
            "memory_limit_MB": 1024, "language": "python", "files": {}, "fetch_files": [],
        });
        let request = RunCodeRequest::parse(body.to_string().as_bytes()).unwrap();
        assert_eq!(request.surroundings.memory_bytes, Some(1 << 30));
        assert_eq!(request.run_timeout, Duration::from_secs(10));
        assert_eq!(&request.stdin[..], b"1\n");
    }

    #[test]
    fn defaults_nulls_and_unknown_keys_are_accepted() {
        let body = json!({
            "code": "", "language": "cpp", "stdin": null, "memory_limit_MB": null, "x": [1],
            "files": {"a": "YQ==", "b": null, "d/IGNORE_THIS_FILE": "!"}, "run_timeout": "2.5",
        });
        let request = RunCodeRequest::parse(body.to_string().as_bytes()).unwrap();
        assert_eq!(request.surroundings.memory_bytes, None);
        assert_eq!(request.run_timeout, Duration::from_millis(2500));
        assert_eq!(request.compile_timeout, DEFAULT_COMPILE_TIMEOUT);
        let files = [("a".to_owned(), Bytes::from("a"))];
        assert_eq!(request.surroundings.files, files);
        assert!(request.stdin.is_empty());
    }

    #[test]
    fn all_mistakes_are_reported_at_once() {
        let body = json!({
            "code": 1, "run_timeout": "x", "compile_timeout": 0, "memory_limit_MB": 1.5,
            "files": {"a": 1, "b": "?"}, "fetch_files": "a",
        });
        let expected = [
            ("string_type", "body.code"),
            ("missing", "body.language"),
            ("greater_than", "body.compile_timeout"),
            ("float_parsing", "body.run_timeout"),
            ("int_from_float", "body.memory_limit_MB"),
            ("string_type", "body.files.a"),
            ("value_error", "body.files.b"),
            ("list_type", "body.fetch_files"),
        ];
        let expected = expected.map(|(kind, field)| (kind.to_owned(), field.to_owned()));
        assert_eq!(kinds(&body), expected);
        assert_eq!(kinds(&json!([]))[0].0, "model_attributes_type");
        let invalid = RunCodeRequest::parse(b"{").unwrap_err();
        assert_eq!(invalid[0].kind, "json_invalid");
    }

    #[test]
    fn limits_above_the_maximum_are_rejected() {
        let max = LimitValues::default();
        let body = json!({
            "code": "", "language": "c", "run_timeout": 21, "memory_limit_MB": 257,
        });
        let request = RunCodeRequest::parse(body.to_string().as_bytes()).unwrap();
        let invalid = request.check(&max).unwrap_err();
        let fields: Vec<String> = invalid.iter().map(Invalid::field).collect();
        assert_eq!(fields, ["body.run_timeout", "body.memory_limit_MB"]);
    }

    #[test]
    fn jupyter_request_needs_cells_and_a_python_kernel() {
        let parse = |body: serde_json::Value| RunJupyterRequest::parse(body.to_string().as_bytes());
        let request = parse(json!({"cells": ["1"], "cell_timeout": 0})).unwrap();
        assert_eq!(request.total_timeout, DEFAULT_TOTAL_TIMEOUT);
        let invalid = parse(json!({"kernel": "bash"})).unwrap_err();
        let kinds: Vec<&str> = invalid.iter().map(|invalid| invalid.kind).collect();
        assert_eq!(kinds, ["missing", "literal_error"]);
    }
}

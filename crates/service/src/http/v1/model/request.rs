//! The JSON documents of requests.

use crate::config::LimitValues;
use crate::http::problem::{self, ProblemDetails};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
    /// How sources are compiled.
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
    /// The form in which outputs are returned.
    pub stdout: OutputForm,
    /// How long the request may wait in the queue, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_ms: Option<u64>,
    /// How long the answer to the request may take, in milliseconds. After this time, the answer is
    /// 202, and the run continues. Without this field and without a header `Prefer: wait=SECONDS`
    /// or `Prefer: respond-async`, the answer is sent when the run has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// Whether standard input comes from the WebSocket `/v1/runs/{id}/attach`. Needs `wait_ms` or
    /// `Prefer`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interactive: bool,
    /// Whether the program has a terminal, connected to the WebSocket `/v1/runs/{id}/attach`.
    /// Implies `interactive`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub terminal: bool,
    /// Whether the run is traced, so that the answer explains what the program lacked: refused
    /// system calls, and files that exist on the host. The run is much slower, and its figures must
    /// not be used for judging. At most one test, and only if the service allows it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub explain: bool,
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
    /// A stored file.
    Sha256(String),
}

/// How sources are compiled, and the limits of the compiler.
#[derive(Debug, Clone, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CompileRequest {
    /// Whether the syntax of an interpreted program is checked before its first test. This takes a
    /// start of the interpreter for each new program. Without the check, the interpreter reports a
    /// syntax error in each test, and `compile` is `null` in the answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub check: bool,
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
    /// The name of the test, chosen by the caller; by default, the number of the test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<Blob>,
    /// Additional arguments.
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

/// The form in which outputs are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputForm {
    /// Text if it is UTF-8, otherwise Base64.
    #[default]
    Text,
    /// Base64.
    Base64,
    /// Only the sizes are returned.
    Discard,
}

/// Limits of a request; absent limits have the service's defaults.
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
    /// Maximum number of bytes of standard output that are kept. The same number applies to
    /// standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// Maximum size of all files that the program writes, in bytes.
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
    /// A limit is above its maximum.
    pub fn with_defaults(
        &self,
        default: &LimitValues,
        max: &LimitValues,
    ) -> Result<LimitValues, ProblemDetails> {
        let check = |field: &str, value: Option<u64>, default: u64, max: u64| match value {
            Some(value) if value > max => {
                Err(problem::above_limit(&format!("limits.{field}"), value, max))
            }
            Some(0) => Err(problem::impossible(
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

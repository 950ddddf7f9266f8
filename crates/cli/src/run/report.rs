//! The report of a run: one JSON object in one line.

use millibox::Backend;
use millibox::explain::Explanation;
use serde::Serialize;

/// The JSON object.
#[derive(Debug, Default, Serialize)]
pub struct Report<'a> {
    pub outcome: &'a str,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub real_time_ns: u64,
    pub cpu_user_ns: u64,
    pub cpu_system_ns: u64,
    pub peak_memory_bytes: u64,
    pub peak_processes: Option<u32>,
    /// `None` if no supervisor was started.
    pub backend: Option<Backend>,
    pub error: Option<ReportError<'a>>,
    /// What the program lacked, if the run was traced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<&'a Explanation>,
}

/// The error in a report.
#[derive(Debug, Serialize)]
pub struct ReportError<'a> {
    pub step: &'a str,
    pub errno: Option<i32>,
    pub message: String,
}

impl Report<'_> {
    /// The report as one line.
    pub fn line(&self) -> std::io::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

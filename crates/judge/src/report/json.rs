//! The report for programs.
//!
//! The report is one JSON object: a [`JudgeReport`] with the names of its fields. Enumerations are
//! names in `snake_case`. When [`super::VERSION`] increases, programs that read the report must be
//! changed.

use super::display::is_harmless;
use super::model::JudgeReport;
use std::io::{Result, Write};

/// Writes the report, followed by a line break.
///
/// # Errors
/// The report cannot be written.
pub fn write(report: &JudgeReport, mut to: impl Write) -> Result<()> {
    let json = serde_json::to_string_pretty(report)?;
    let mut escaped = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        // serde_json does not escape all of these characters. They occur only in strings, and four
        // digits are enough for each of them.
        match c {
            '\n' => escaped.push(c),
            c if is_harmless(c) => escaped.push(c),
            c => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    escaped.push('\n');
    to.write_all(escaped.as_bytes())
}

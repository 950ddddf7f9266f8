//! The verdicts that the names of submission directories imply.

use crate::model::{Expected, Format};

/// The verdicts of a crash. The formats have no verdict for exceeding the memory limit, which
/// counts as a crash.
pub const CRASH: [Expected; 2] = [Expected::RunTimeError, Expected::MemoryLimit];

/// Returns the expected verdicts of submissions in a directory with this name, or `None` if the
/// name is unknown.
pub fn of_directory(name: &str, format: Format) -> Option<&'static [Expected]> {
    use Expected::*;
    Some(match name {
        "accepted" => &[Accepted],
        "partially_accepted" => &[PartiallyAccepted],
        "wrong_answer" | "no_output" => &[WrongAnswer],
        "time_limit_exceeded" => &[TimeLimit],
        "run_time_error" => &CRASH,
        "memory_limit" | "memory_limit_exceeded" => &[MemoryLimit],
        "output_limit" | "output_limit_exceeded" => &[OutputLimit],
        "compiler_error" | "compile_error" => &[CompileError],
        "rejected" if format != Format::Legacy => &[Rejected],
        "brute_force" if format != Format::Legacy => &[TimeLimit, RunTimeError, MemoryLimit],
        _ => return None,
    })
}

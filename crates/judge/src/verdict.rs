//! Verdicts and points.

use serde::Serialize;

/// The verdict on a test, a group or a submission. The order, from best to worst, is the same as in
/// the ICPC format's default grader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// The output is right.
    Accepted,
    /// The checker rejects the output.
    WrongAnswer,
    /// The run exceeded its output limit.
    OutputLimit,
    /// The run exceeded its CPU time or real time limit.
    TimeLimit,
    /// The run exceeded its memory limit.
    MemoryLimit,
    /// A signal ended the run, or its exit status was not 0.
    RunTimeError,
    /// The compiler rejects the submission.
    CompileError,
    /// The judge, its machine or a program of the package failed. The submission is not to blame.
    JudgeError,
}

impl Verdict {
    /// All verdicts, from best to worst.
    pub const ALL: &[Verdict] = &[
        Verdict::Accepted,
        Verdict::WrongAnswer,
        Verdict::OutputLimit,
        Verdict::TimeLimit,
        Verdict::MemoryLimit,
        Verdict::RunTimeError,
        Verdict::CompileError,
        Verdict::JudgeError,
    ];

    /// The name in reports, such as `wrong_answer`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Accepted => "accepted",
            Verdict::WrongAnswer => "wrong_answer",
            Verdict::OutputLimit => "output_limit",
            Verdict::TimeLimit => "time_limit",
            Verdict::MemoryLimit => "memory_limit",
            Verdict::RunTimeError => "run_time_error",
            Verdict::CompileError => "compile_error",
            Verdict::JudgeError => "judge_error",
        }
    }
}

// `ALL` contains the values in their order, and this match names the last one. A new value does not
// compile until the match knows it.
const _: () = {
    let mut index = 0;
    while index < Verdict::ALL.len() {
        let verdict = Verdict::ALL[index];
        assert!(verdict as usize == index);
        let is_last = match verdict {
            Verdict::Accepted
            | Verdict::WrongAnswer
            | Verdict::OutputLimit
            | Verdict::TimeLimit
            | Verdict::MemoryLimit
            | Verdict::RunTimeError
            | Verdict::CompileError => false,
            Verdict::JudgeError => true,
        };
        index += 1;
        assert!(is_last == (index == Verdict::ALL.len()));
    }
};

/// Points of one test from a checker.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Points {
    /// A fraction of the test's worth, from 0 to 1.
    Part(f64),
    /// A number of points.
    Absolute(f64),
}

/// Maximum length of a comment in bytes.
pub const COMMENT_LIMIT: usize = 2048;

//! The input of a package's own grader, and its answer.

use crate::failure::GraderFault;
use crate::verdict::Verdict;

/// A group that is ready for grading, because the results of all its parts are known.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grading {
    /// The group.
    pub group: usize,
    /// The grader's arguments.
    pub flags: Vec<String>,
    /// The grader's standard input: a line for each part that was judged, in order.
    pub input: String,
}

/// A grader's answer for a group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grade {
    /// The group's verdict, never a judge error.
    pub verdict: Verdict,
    /// The group's points.
    pub points: f64,
}

/// Returns the format's code for a verdict.
///
/// The format has no code for exceeding the memory limit, which is therefore reported as a run-time
/// error. The code for exceeding the output limit is that of the default grader.
pub(super) fn code(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Accepted => "AC",
        Verdict::WrongAnswer => "WA",
        Verdict::OutputLimit => "OLE",
        Verdict::TimeLimit => "TLE",
        Verdict::MemoryLimit | Verdict::RunTimeError | Verdict::CompileError => "RTE",
        // A group with a judge error is not graded.
        Verdict::JudgeError => "JE",
    }
}

/// Formats the grader's input.
pub(super) fn lines(parts: impl Iterator<Item = (Verdict, Option<f64>)>) -> String {
    parts
        .map(|(verdict, points)| {
            format!(
                "{} {}
",
                code(verdict),
                points.unwrap_or(0.0)
            )
        })
        .collect()
}

impl Grade {
    /// Parses a grader's standard output: `VERDICT SCORE` and nothing more.
    ///
    /// # Errors
    /// The output has another form, or reports a failure (`JE`).
    pub fn parse(stdout: &[u8]) -> Result<Grade, GraderFault> {
        let text = String::from_utf8_lossy(stdout);
        let words: Vec<&str> = text.split_whitespace().collect();
        let unknown = || GraderFault::Unknown(text.trim_end().chars().take(60).collect());
        let &[verdict, points] = &words[..] else {
            return Err(unknown());
        };
        let verdict = match verdict {
            "AC" => Verdict::Accepted,
            "WA" => Verdict::WrongAnswer,
            "OLE" => Verdict::OutputLimit,
            "TLE" => Verdict::TimeLimit,
            "MLE" => Verdict::MemoryLimit,
            "RTE" => Verdict::RunTimeError,
            "JE" => return Err(GraderFault::JudgeError),
            _ => return Err(unknown()),
        };
        match points.parse::<f64>() {
            Ok(points) if points.is_finite() => Ok(Grade { verdict, points }),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_grader_answer_accepts_only_verdict_and_score() {
        let parse = |text: &str| {
            Grade::parse(text.as_bytes()).map(|graded| (graded.verdict, graded.points))
        };
        assert_eq!(parse("AC 12.5\n"), Ok((Verdict::Accepted, 12.5)));
        assert_eq!(parse(" RTE\t-3 \n\n"), Ok((Verdict::RunTimeError, -3.0)));
        for unknown in [
            "",
            "AC",
            "AC much",
            "AC nan",
            "AC inf",
            "ac 1",
            "PAC 1",
            "AC 1 2",
            "AC 1\nWA 1\n",
            "100 AC",
        ] {
            assert!(
                matches!(parse(unknown), Err(GraderFault::Unknown(_))),
                "{unknown:?}"
            );
        }
        assert_eq!(parse("JE 0"), Err(GraderFault::JudgeError));
    }
}

//! What a grader of the package's own is told of a group's parts, and what its answer means.

use super::walk::PartResult;
use crate::verdict::Verdict;

/// A group whose grader is to be asked: all of its parts are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grading {
    /// The group.
    pub group: usize,
    /// Arguments of the grader.
    pub flags: Vec<String>,
    /// Its standard input: a line for each part that was judged, in order.
    pub input: String,
}

/// What a grader said of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grade {
    /// The group's verdict; never a judge error.
    pub verdict: Verdict,
    /// The group's points.
    pub points: f64,
}

/// The format's word for a verdict. It has none for memory, which is a run-time error; that for output is the
/// default grader's.
pub(super) fn code(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Accepted => "AC",
        Verdict::WrongAnswer => "WA",
        Verdict::OutputLimit => "OLE",
        Verdict::TimeLimit => "TLE",
        Verdict::MemoryLimit | Verdict::RunTimeError | Verdict::CompileError => "RTE",
        // Groups of which some could not be judged are not graded.
        Verdict::JudgeError => "JE",
    }
}

/// The lines that a grader reads.
pub(super) fn lines(parts: &[PartResult]) -> String {
    parts.iter().map(|part| format!("{} {}\n", code(part.verdict), part.points.unwrap_or(0.0))).collect()
}

impl Grade {
    /// What a grader means by its standard output: `VERDICT SCORE`, and nothing else. Why it means nothing.
    ///
    /// # Errors
    /// It is of another form, or says that the grader failed (`JE`).
    pub fn parse(said: &[u8]) -> Result<Grade, String> {
        let text = String::from_utf8_lossy(said);
        let words: Vec<&str> = text.split_whitespace().collect();
        let unknown = || {
            let shown: String = text.trim_end().chars().take(60).collect();
            format!("says {shown:?}, not a verdict (AC, WA, TLE, RTE, OLE, MLE) and a score")
        };
        let &[verdict, points] = &words[..] else { return Err(unknown()) };
        let verdict = match verdict {
            "AC" => Verdict::Accepted,
            "WA" => Verdict::WrongAnswer,
            "OLE" => Verdict::OutputLimit,
            "TLE" => Verdict::TimeLimit,
            "MLE" => Verdict::MemoryLimit,
            "RTE" => Verdict::RunTimeError,
            "JE" => return Err("says that the judge failed (JE)".to_owned()),
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
    fn answers_of_graders() {
        let said = |text: &str| Grade::parse(text.as_bytes()).map(|graded| (graded.verdict, graded.points));
        assert_eq!(said("AC 12.5\n"), Ok((Verdict::Accepted, 12.5)));
        assert_eq!(said(" RTE\t-3 \n\n"), Ok((Verdict::RunTimeError, -3.0)));
        for unknown in ["", "AC", "AC much", "AC nan", "AC inf", "ac 1", "PAC 1", "AC 1 2", "AC 1\nWA 1\n", "100 AC"] {
            assert!(said(unknown).unwrap_err().starts_with("says "), "{unknown:?}");
        }
        assert_eq!(said("JE 0").unwrap_err(), "says that the judge failed (JE)");
    }
}

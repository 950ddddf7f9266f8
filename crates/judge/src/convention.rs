//! The answers of checkers and interactors, and their meaning in each convention.

use crate::feedback::{Excess, Feedback, FeedbackError};
use crate::verdict::{COMMENT_LIMIT, Points, Verdict};
use millibox::{Outcome, RunResult};
use millibox_languages::program::Limits;
use millibox_package::model::Convention;
use std::fmt;
use std::time::Duration;

/// Length of a comment in Sim's convention.
const SIM_COMMENT_BYTES: usize = 256;
/// The points of testlib's "partially correct" range up to this number.
const MAX_TESTLIB_PARTS: u32 = 200;
/// Length of the part of score.txt that is read. Every number that a program prints is shorter.
const MAX_NUMBER_BYTES: usize = 1000;

/// A checker's or interactor's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// `Accepted`, `WrongAnswer`, or `JudgeError` if the program gave no usable answer.
    pub verdict: Verdict,
    /// Why the verdict is a judge error. `None` for the other verdicts.
    pub failure: Option<ValidatorFailure>,
    /// The comment, made printable and cut at [`COMMENT_LIMIT`]. If an ICPC validator rejects an
    /// output without a comment, this states it.
    pub comment: String,
    /// Points, if the program gave any.
    pub points: Option<Points>,
}

impl Answer {
    fn new(verdict: Verdict, comment: String, points: Option<Points>) -> Answer {
        Answer {
            verdict,
            failure: None,
            comment,
            points,
        }
    }

    /// The answer of a program that failed: a judge error.
    pub(crate) fn failed(fault: impl Into<AnswerFault>) -> Answer {
        let failure = Some(ValidatorFailure {
            fault: fault.into(),
            stderr: String::new(),
        });
        Answer {
            verdict: Verdict::JudgeError,
            failure,
            comment: String::new(),
            points: None,
        }
    }
}

/// Why a checker or interactor gave no usable answer, with its standard error.
///
/// The sentence has no subject: a caller puts `checker: ` or `interactor: ` before it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{fault}{}", Suffix(.stderr))]
#[non_exhaustive]
pub struct ValidatorFailure {
    /// The reason.
    pub fault: AnswerFault,
    /// Beginning and end of the program's standard error, made printable. It may be empty.
    pub stderr: String,
}

/// Why a checker's or interactor's answer is unusable.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerFault {
    /// The run did not exit. The text is its outcome.
    #[error("{0}")]
    Ended(String),
    /// The run reached one of its limits.
    #[error("{outcome}: {limit}{}", Hint(.key))]
    LimitReached {
        /// The run's outcome.
        outcome: String,
        /// The limit.
        limit: Limit,
        /// The key in problem.yaml that raises the limit, if the package's format has one.
        key: Option<&'static str>,
    },
    /// The program left too much in its feedback directory.
    #[error(transparent)]
    Excess(#[from] Excess),
    /// A feedback file cannot be read.
    #[error(transparent)]
    Feedback(#[from] FeedbackError),
    /// An ICPC validator exited with an unknown status.
    #[error("exited with {0}, not with 42 (accepted) or 43 (wrong answer)")]
    IcpcStatus(i32),
    /// An ICPC validator gave both points and a part of the points.
    #[error("wrote both score.txt and score_multiplier.txt; write one of them")]
    BothScores,
    /// An ICPC validator's multiplier is out of range.
    #[error("score_multiplier.txt contains {0}, which is not between 0 and 1")]
    Multiplier(f64),
    /// A feedback file holds no number.
    #[error("{file} contains {text:?}, which is not a number")]
    NotANumber {
        /// The feedback file.
        file: &'static str,
        /// The beginning of its content.
        text: String,
    },
    /// A Sim checker exited with another status than 0.
    #[error("exited with {0}, not with 0")]
    SimStatus(i32),
    /// The first line of a Sim checker's answer is unknown.
    #[error("its first line is {0:?}, neither OK nor WRONG")]
    SimVerdict(String),
    /// The second line of a Sim checker's answer is no percentage.
    #[error("its second line is {0:?}, neither empty nor a number from 0 to 100")]
    SimPercentage(String),
    /// A testlib checker exited with an unknown status.
    #[error("exited with {0}, which testlib does not define")]
    TestlibStatus(i32),
    /// A testlib checker reported its own failure.
    #[error("reports that it failed (exit status 3)")]
    TestlibFail,
    /// A testlib checker's "partially correct" has no usable points.
    #[error("its points are not a number from 0 to {MAX_TESTLIB_PARTS}")]
    TestlibParts,
    /// A testlib checker exited with the status for points and printed none.
    #[error("exited with {0} (points) without printing `points P`, P from 0 to 1")]
    TestlibPoints(i32),
}

/// A limit that a checker or interactor reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// A time.
    Time(Duration),
    /// A number of bytes.
    Bytes(u64),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Limit::Time(time) => write!(f, "{} s", time.as_secs_f64()),
            Limit::Bytes(bytes) if bytes % (1 << 20) == 0 => write!(f, "{} MiB", bytes >> 20),
            Limit::Bytes(bytes) => write!(f, "{bytes} bytes"),
        }
    }
}

struct Hint<'a>(&'a Option<&'static str>);

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(key) => write!(f, "; raise limits.{key} in problem.yaml"),
            None => Ok(()),
        }
    }
}

/// The end of a sentence about a program that failed: its standard error, if there is any.
pub(crate) struct Suffix<'a>(pub &'a str);

impl fmt::Display for Suffix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => Ok(()),
            stderr => write!(f, "; standard error: {stderr}"),
        }
    }
}

/// Interprets the run of a checker or interactor.
///
/// The run had `limits`. `stdout` and `stderr` are its output, at least the first
/// [`COMMENT_LIMIT`] bytes of each.
pub fn interpret(
    convention: Convention,
    run: &RunResult,
    limits: &Limits,
    stdout: &[u8],
    stderr: &[u8],
    feedback: &Feedback,
) -> Answer {
    let answer = match (&run.outcome, convention) {
        (Outcome::Exited(code), Convention::Icpc) => icpc(*code, feedback),
        (Outcome::Exited(code), Convention::Sim) => sim(*code, stdout, stderr),
        (Outcome::Exited(code), Convention::Testlib) => testlib(*code, stderr),
        _ => Err(ended(convention, run, limits)),
    };
    answer.unwrap_or_else(|fault| {
        let failure = Some(ValidatorFailure {
            fault,
            stderr: stderr_excerpt(stderr),
        });
        let comment = match convention {
            Convention::Icpc => messages(feedback),
            Convention::Sim | Convention::Testlib => String::new(),
        };
        Answer {
            verdict: Verdict::JudgeError,
            failure,
            comment,
            points: None,
        }
    })
}

/// The fault of a run that did not exit.
fn ended(convention: Convention, run: &RunResult, limits: &Limits) -> AnswerFault {
    let (limit, key) = match run.outcome {
        Outcome::CpuTimeLimit => (Limit::Time(limits.cpu_time), "validation_time"),
        Outcome::RealTimeLimit => (Limit::Time(limits.real_time), "validation_time"),
        Outcome::MemoryLimit => (Limit::Bytes(limits.memory), "validation_memory"),
        Outcome::OutputLimit => (Limit::Bytes(limits.output), "validation_output"),
        _ => return AnswerFault::Ended(run.to_string()),
    };
    // Only ICPC packages have such a key.
    let key = (convention == Convention::Icpc).then_some(key);
    AnswerFault::LimitReached {
        outcome: run.to_string(),
        limit,
        key,
    }
}

/// Beginning and end of a failed program's standard error, made printable.
///
/// The beginning of a traceback names the program, the end names the error.
pub(crate) fn stderr_excerpt(stderr: &[u8]) -> String {
    const BEGIN_BYTES: usize = 200;
    const END_BYTES: usize = 600;
    let text = printable(stderr, stderr.len());
    if text.len() <= BEGIN_BYTES + END_BYTES {
        return text;
    }
    let begin = (0..=BEGIN_BYTES)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let end = (text.len() - END_BYTES..)
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len());
    format!(
        "{} [...] {}",
        text[..begin].trim_end(),
        text[end..].trim_start()
    )
}

// --- ICPC ------------------------------------------------------------------------------

fn icpc(code: i32, feedback: &Feedback) -> Result<Answer, AnswerFault> {
    match code {
        42 => Ok(Answer::new(
            Verdict::Accepted,
            messages(feedback),
            icpc_points(feedback)?,
        )),
        // The legacy format allows points here, its successor does not. The scoring decides that.
        43 => {
            let mut comment = messages(feedback);
            if comment.is_empty() {
                "the validator wrote no judgemessage.txt with a reason".clone_into(&mut comment);
            }
            Ok(Answer::new(
                Verdict::WrongAnswer,
                comment,
                icpc_points(feedback)?,
            ))
        }
        code => Err(AnswerFault::IcpcStatus(code)),
    }
}

fn icpc_points(feedback: &Feedback) -> Result<Option<Points>, AnswerFault> {
    let score = number(feedback, "score.txt")?;
    let part = number(feedback, "score_multiplier.txt")?;
    match (score, part) {
        (Some(_), Some(_)) => Err(AnswerFault::BothScores),
        (Some(score), None) => Ok(Some(Points::Absolute(score))),
        (None, Some(part)) if (0.0..=1.0).contains(&part) => Ok(Some(Points::Part(part))),
        (None, Some(part)) => Err(AnswerFault::Multiplier(part)),
        (None, None) => Ok(None),
    }
}

fn number(feedback: &Feedback, file: &'static str) -> Result<Option<f64>, AnswerFault> {
    let Some(bytes) = feedback.read(file, MAX_NUMBER_BYTES)? else {
        return Ok(None);
    };
    match std::str::from_utf8(&bytes)
        .ok()
        .and_then(|text| text.trim().parse::<f64>().ok())
    {
        Some(number) if number.is_finite() => Ok(Some(number)),
        _ => Err(AnswerFault::NotANumber {
            file,
            text: printable(&bytes, 40),
        }),
    }
}

/// The message to the judges, followed by the message to the team.
fn messages(feedback: &Feedback) -> String {
    let mut comment = Vec::new();
    for name in ["judgemessage.txt", "teammessage.txt"] {
        // A fifo, link or directory is no message. The exit status still counts.
        let message = feedback
            .read(name, COMMENT_LIMIT)
            .ok()
            .flatten()
            .unwrap_or_default();
        if !comment.is_empty() && !message.is_empty() && comment.last() != Some(&b'\n') {
            comment.push(b'\n');
        }
        comment.extend(message);
    }
    printable(&comment, COMMENT_LIMIT)
}

// --- Sim -------------------------------------------------------------------------------

fn sim(code: i32, stdout: &[u8], stderr: &[u8]) -> Result<Answer, AnswerFault> {
    if code != 0 {
        return Err(AnswerFault::SimStatus(code));
    }
    // Sim attaches one file to both streams, so its checkers answer on either.
    let answer = if stdout.is_empty() { stderr } else { stdout };
    let mut lines = answer.splitn(3, |byte| *byte == b'\n');
    let mut line = || printable(lines.next().unwrap_or_default(), 64);
    let (first, second) = (line(), line());
    let comment = printable(lines.next().unwrap_or_default(), SIM_COMMENT_BYTES);
    match first.as_str() {
        "WRONG" => Ok(Answer::new(Verdict::WrongAnswer, comment, None)),
        "OK" if second.is_empty() => Ok(Answer::new(Verdict::Accepted, comment, None)),
        "OK" => match second.parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Answer::new(
                Verdict::Accepted,
                comment,
                Some(Points::Part(percent / 100.0)),
            )),
            _ => Err(AnswerFault::SimPercentage(second)),
        },
        _ => Err(AnswerFault::SimVerdict(first)),
    }
}

// --- testlib ---------------------------------------------------------------------------

fn testlib(code: i32, stderr: &[u8]) -> Result<Answer, AnswerFault> {
    let comment = printable(stderr, COMMENT_LIMIT);
    let graded = |part: f64| {
        let verdict = if part > 0.0 {
            Verdict::Accepted
        } else {
            Verdict::WrongAnswer
        };
        Answer::new(verdict, comment.clone(), Some(Points::Part(part)))
    };
    // The exit status of "partially correct" is the number of points, or 16 or 50 more, depending
    // on how testlib was built. The words also tell it from the 127 of a shell that found no
    // program.
    if let Some(rest) = comment.strip_prefix("partially correct (") {
        let parts = rest
            .split_once(')')
            .and_then(|(parts, _)| parts.trim().parse::<u32>().ok());
        return match parts {
            Some(parts) if parts <= MAX_TESTLIB_PARTS => {
                Ok(graded(f64::from(parts) / f64::from(MAX_TESTLIB_PARTS)))
            }
            _ => Err(AnswerFault::TestlibParts),
        };
    }
    match code {
        0 => Ok(Answer::new(Verdict::Accepted, comment, None)),
        // Wrong answer, presentation error, dirt after the answer, unexpected end of file.
        1 | 2 | 4 | 8 => Ok(Answer::new(Verdict::WrongAnswer, comment, None)),
        3 => Err(AnswerFault::TestlibFail),
        5 | 7 => {
            let points = comment
                .strip_prefix("points ")
                .and_then(|rest| rest.split_whitespace().next());
            match points.and_then(|points| points.parse::<f64>().ok()) {
                Some(part) if (0.0..=1.0).contains(&part) => Ok(graded(part)),
                _ => Err(AnswerFault::TestlibPoints(code)),
            }
        }
        code => Err(AnswerFault::TestlibStatus(code)),
    }
}

// --- text ------------------------------------------------------------------------------

/// Makes text safe to show: valid UTF-8 of at most `limit` bytes without white space at its end.
///
/// Control characters other than tabs and newlines, and characters that change the direction of
/// writing, are replaced.
pub(crate) fn printable(bytes: &[u8], limit: usize) -> String {
    let mut text = String::new();
    // Every character takes at least one byte, so these bytes suffice. `bytes` may be megabytes.
    for character in String::from_utf8_lossy(&bytes[..bytes.len().min(limit + 4)]).chars() {
        let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let shown = match character {
            '\r' => continue,
            '\n' | '\t' => character,
            _ if character.is_control() || turns => char::REPLACEMENT_CHARACTER,
            _ => character,
        };
        if text.len() + shown.len_utf8() > limit {
            break;
        }
        text.push(shown);
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stderr_excerpt_of_a_long_text_keeps_beginning_and_end() {
        let with_stderr = |stderr: &[u8]| {
            let fault = AnswerFault::Ended("x".to_owned());
            ValidatorFailure {
                fault,
                stderr: stderr_excerpt(stderr),
            }
            .to_string()
        };
        let traceback = |lines: &str| format!("Traceback\n{lines}ValueError: żółw\n");
        assert_eq!(with_stderr(b""), "x");
        let short = traceback("  line 1\n");
        assert_eq!(
            with_stderr(short.as_bytes()),
            format!("x; standard error: {}", short.trim_end())
        );
        for fill in 0..4 {
            let long = with_stderr(traceback(&("ż".repeat(1000) + &"y".repeat(fill))).as_bytes());
            assert!(
                long.starts_with("x; standard error: Traceback\nż") && long.ends_with("żółw"),
                "{long}"
            );
            assert!(long.contains(" [...] ") && long.len() < 900, "{long}");
        }
    }

    #[test]
    fn printable_strange_bytes_replaces_and_cuts_between_characters() {
        assert_eq!(
            printable(b"a\x1b[31mb\0\r\n\n", 100),
            "a\u{fffd}[31mb\u{fffd}"
        );
        assert_eq!(printable("żółw".as_bytes(), 4), "żó");
        assert_eq!(printable("żółw".as_bytes(), 5), "żó");
        assert_eq!(printable(&[0xff; 10], 8), "\u{fffd}\u{fffd}");
        assert_eq!(printable("a\u{202e}b".as_bytes(), 8), "a\u{fffd}b");
        assert_eq!(printable(b"", 0), "");
    }

    fn part(answer: Result<Answer, AnswerFault>) -> (Verdict, Option<f64>) {
        let answer = answer.expect("an answer");
        match answer.points {
            None => (answer.verdict, None),
            Some(Points::Part(part)) => (answer.verdict, Some(part)),
            Some(Points::Absolute(_)) => panic!("{answer:?}"),
        }
    }

    #[test]
    fn sim_answers_parse_or_fail() {
        assert_eq!(part(sim(0, b"OK", b"")), (Verdict::Accepted, None));
        assert_eq!(
            part(sim(0, b"OK\n\nwell done\n", b"")),
            (Verdict::Accepted, None)
        );
        assert_eq!(
            part(sim(0, b"OK\n12.5\nwell\ndone\n", b"log")),
            (Verdict::Accepted, Some(0.125))
        );
        assert_eq!(
            part(sim(0, b"", b"OK\n0\n")),
            (Verdict::Accepted, Some(0.0))
        );
        assert_eq!(
            part(sim(0, b"WRONG\nwhatever\nwhy", b"")),
            (Verdict::WrongAnswer, None)
        );
        assert_eq!(
            sim(0, b"WRONG\n\nwhy\nso\n", b"").unwrap().comment,
            "why\nso"
        );
        let long = [b"OK\n\n".as_slice(), &[b'x'; 1000]].concat();
        assert_eq!(sim(0, &long, b"").unwrap().comment.len(), SIM_COMMENT_BYTES);
        for garbage in [
            &b""[..],
            b"ok",
            b"OK\n101",
            b"OK\n-1",
            b"OK\nnan",
            b"OK\nhalf",
            b"OKAY",
            b" OK",
            &[0; 9],
        ] {
            sim(0, garbage, b"").expect_err("garbage");
        }
        sim(1, b"OK\n", b"").expect_err("an exit status");
    }

    #[test]
    fn testlib_answers_parse_or_fail() {
        assert_eq!(part(testlib(0, b"ok 3 numbers")), (Verdict::Accepted, None));
        assert_eq!(
            testlib(1, b"wrong answer 1st\n").unwrap().comment,
            "wrong answer 1st"
        );
        for code in [1, 2, 4, 8] {
            assert_eq!(part(testlib(code, b"")), (Verdict::WrongAnswer, None));
        }
        assert_eq!(
            part(testlib(7, b"points 0.25 half of half")),
            (Verdict::Accepted, Some(0.25))
        );
        assert_eq!(
            part(testlib(7, b"points 0")),
            (Verdict::WrongAnswer, Some(0.0))
        );
        assert_eq!(
            part(testlib(3, b"partially correct (3) so")),
            (Verdict::Accepted, Some(0.015))
        );
        for (code, stderr) in [
            (3, ""),
            (7, ""),
            (16, ""),
            (127, ""),
            (7, "points 30"),
            (7, "points nan"),
            (6, ""),
            (9, "partially correct (900)"),
        ] {
            testlib(code, stderr.as_bytes()).expect_err(stderr);
        }
    }
}

//! How a checker (or interactor) answers, and what its answer means.

use crate::feedback::Feedback;
use crate::program::Limits;
use crate::verdict::{COMMENT_LIMIT, Points, Verdict};
use millibox::{Outcome, RunResult};
use millibox_package::model::Convention;
use std::time::Duration;

/// Bytes of a comment in Sim's convention.
const SIM_COMMENT_BYTES: usize = 256;
/// Points of testlib's "partially correct" go up to this.
const MAX_TESTLIB_PARTS: u32 = 200;

/// What a checker (or interactor) said.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// `Accepted`, `WrongAnswer`, or `JudgeError`: it failed, or said nothing that is known.
    pub verdict: Verdict,
    /// For a judge error what failed, without the subject: a caller puts `checker: ` or
    /// `interactor: ` before it. Else empty.
    pub reason: String,
    /// Its comment, made printable, cut at [`COMMENT_LIMIT`]; or that an ICPC validator rejects and has none.
    pub comment: String,
    /// Points, if it gave any.
    pub points: Option<Points>,
}

impl Answer {
    fn new(verdict: Verdict, comment: String, points: Option<Points>) -> Answer {
        Answer { verdict, reason: String::new(), comment, points }
    }

    /// It failed: a judge error.
    pub(crate) fn failed(reason: String) -> Answer {
        Answer { verdict: Verdict::JudgeError, reason, comment: String::new(), points: None }
    }
}

/// Says what a checker's run means.
///
/// It ran within `limits`. `stdout` and `stderr` are what it wrote, at least the first [`COMMENT_LIMIT`] bytes of each.
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
    answer.unwrap_or_else(|reason| {
        let reason = with_complaint(reason, stderr);
        let comment = match convention {
            Convention::Icpc => messages(feedback),
            Convention::Sim | Convention::Testlib => String::new(),
        };
        Answer { verdict: Verdict::JudgeError, reason, comment, points: None }
    })
}

/// How a run ended that did not exit, and what would allow it more.
fn ended(convention: Convention, run: &RunResult, limits: &Limits) -> String {
    let seconds = |time: Duration| format!("{} s", time.as_secs_f64());
    let mebibytes = |bytes: u64| match bytes % (1 << 20) {
        0 => format!("{} MiB", bytes >> 20),
        _ => format!("{bytes} bytes"),
    };
    let (limit, key) = match run.outcome {
        Outcome::CpuTimeLimit => (seconds(limits.cpu_time), "validation_time"),
        Outcome::RealTimeLimit => (seconds(limits.real_time), "validation_time"),
        Outcome::MemoryLimit => (mebibytes(limits.memory), "validation_memory"),
        Outcome::OutputLimit => (mebibytes(limits.output), "validation_output"),
        _ => return run.to_string(),
    };
    match convention {
        Convention::Icpc => format!("{run}: {limit}; limits.{key} in problem.yaml allows more"),
        // Their packages have no such key.
        Convention::Sim | Convention::Testlib => format!("{run}: {limit}"),
    }
}

/// Why a program of the package failed, with what it wrote to its standard error.
pub(crate) fn with_complaint(mut reason: String, stderr: &[u8]) -> String {
    // Where a traceback begins says who it is from, where it ends says why.
    const BEGIN: usize = 200;
    const END: usize = 600;
    let mut said = printable(stderr, stderr.len());
    if said.len() > BEGIN + END {
        let begin = (0..=BEGIN).rev().find(|at| said.is_char_boundary(*at)).unwrap_or(0);
        let end = (said.len() - END..).find(|at| said.is_char_boundary(*at)).unwrap_or(said.len());
        said = format!("{} [...] {}", said[..begin].trim_end(), said[end..].trim_start());
    }
    if !said.is_empty() {
        reason.push_str("; standard error: ");
        reason.push_str(&said);
    }
    reason
}

// --- ICPC ------------------------------------------------------------------------------

fn icpc(code: i32, feedback: &Feedback) -> Result<Answer, String> {
    match code {
        42 => Ok(Answer::new(Verdict::Accepted, messages(feedback), icpc_points(feedback)?)),
        // The legacy format takes such points, its successor does not: that is for who counts them.
        43 => {
            let mut comment = messages(feedback);
            if comment.is_empty() {
                "the validator left no judgemessage.txt that says why".clone_into(&mut comment);
            }
            Ok(Answer::new(Verdict::WrongAnswer, comment, icpc_points(feedback)?))
        }
        code => Err(format!("exited with {code}, not with 42 (accepted) or 43 (wrong answer)")),
    }
}

fn icpc_points(feedback: &Feedback) -> Result<Option<Points>, String> {
    let score = number(feedback, "score.txt")?;
    let part = number(feedback, "score_multiplier.txt")?;
    match (score, part) {
        (Some(_), Some(_)) => Err("wrote both score.txt and score_multiplier.txt".to_owned()),
        (Some(score), None) => Ok(Some(Points::Absolute(score))),
        (None, Some(part)) if (0.0..=1.0).contains(&part) => Ok(Some(Points::Part(part))),
        (None, Some(part)) => Err(format!("score_multiplier.txt says {part}, which is not between 0 and 1")),
        (None, None) => Ok(None),
    }
}

fn number(feedback: &Feedback, name: &str) -> Result<Option<f64>, String> {
    // No number that anybody writes is longer.
    let Some(bytes) = feedback.read(name, 1000).map_err(|error| error.to_string())? else { return Ok(None) };
    match std::str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse::<f64>().ok()) {
        Some(number) if number.is_finite() => Ok(Some(number)),
        _ => Err(format!("{name} says {:?}, which is not a number", printable(&bytes, 40))),
    }
}

/// What it says to the judges, then what it says to the team.
fn messages(feedback: &Feedback) -> String {
    let mut comment = Vec::new();
    for name in ["judgemessage.txt", "teammessage.txt"] {
        // A message that is a fifo, a link, a directory is no message; the exit status counts.
        let message = feedback.read(name, COMMENT_LIMIT).ok().flatten().unwrap_or_default();
        if !comment.is_empty() && !message.is_empty() && comment.last() != Some(&b'\n') {
            comment.push(b'\n');
        }
        comment.extend(message);
    }
    printable(&comment, COMMENT_LIMIT)
}

// --- Sim -------------------------------------------------------------------------------

fn sim(code: i32, stdout: &[u8], stderr: &[u8]) -> Result<Answer, String> {
    if code != 0 {
        return Err(format!("exited with {code}, not with 0"));
    }
    // Packages that were written for Sim answer on either: Sim gives both the same file.
    let said = if stdout.is_empty() { stderr } else { stdout };
    let mut lines = said.splitn(3, |byte| *byte == b'\n');
    let mut line = || printable(lines.next().unwrap_or_default(), 64);
    let (first, second) = (line(), line());
    let comment = printable(lines.next().unwrap_or_default(), SIM_COMMENT_BYTES);
    match first.as_str() {
        "WRONG" => Ok(Answer::new(Verdict::WrongAnswer, comment, None)),
        "OK" if second.is_empty() => Ok(Answer::new(Verdict::Accepted, comment, None)),
        "OK" => match second.parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => {
                Ok(Answer::new(Verdict::Accepted, comment, Some(Points::Part(percent / 100.0))))
            }
            _ => Err(format!("its second line is {second:?}, neither empty nor a number from 0 to 100")),
        },
        _ => Err(format!("its first line is {first:?}, neither OK nor WRONG")),
    }
}

// --- testlib ---------------------------------------------------------------------------

fn testlib(code: i32, stderr: &[u8]) -> Result<Answer, String> {
    let comment = printable(stderr, COMMENT_LIMIT);
    let graded = |part: f64| {
        let verdict = if part > 0.0 { Verdict::Accepted } else { Verdict::WrongAnswer };
        Answer::new(verdict, comment.clone(), Some(Points::Part(part)))
    };
    // Its exit status is this number, or 16 or 50 more, as testlib was built: the words alone tell,
    // also from the 127 of a shell that did not find a program.
    if let Some(rest) = comment.strip_prefix("partially correct (") {
        let parts = rest.split_once(')').and_then(|(parts, _)| parts.trim().parse::<u32>().ok());
        return match parts {
            Some(parts) if parts <= MAX_TESTLIB_PARTS => Ok(graded(f64::from(parts) / f64::from(MAX_TESTLIB_PARTS))),
            _ => Err(format!("its points are not a number from 0 to {MAX_TESTLIB_PARTS}")),
        };
    }
    match code {
        0 => Ok(Answer::new(Verdict::Accepted, comment, None)),
        // Wrong answer, presentation error, dirt after the answer, unexpected end.
        1 | 2 | 4 | 8 => Ok(Answer::new(Verdict::WrongAnswer, comment, None)),
        3 => Err("says that it failed".to_owned()),
        5 | 7 => {
            let points = comment.strip_prefix("points ").and_then(|rest| rest.split_whitespace().next());
            match points.and_then(|points| points.parse::<f64>().ok()) {
                Some(part) if (0.0..=1.0).contains(&part) => Ok(graded(part)),
                _ => Err(format!("exited with {code} (points) without saying `points P`, P from 0 to 1")),
            }
        }
        code => Err(format!("exited with {code}, which is no answer of testlib's")),
    }
}

// --- text ------------------------------------------------------------------------------

/// Text that can be shown to anybody: valid UTF-8 without control characters (but tabs and
/// newlines) and without what turns the direction of writing, at most `limit` bytes, no white
/// space at its end.
pub(crate) fn printable(bytes: &[u8], limit: usize) -> String {
    let mut text = String::new();
    // No character is shorter than a byte, so this many suffice; more may be megabytes.
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
    fn of_a_long_complaint_beginning_and_end_are_kept() {
        let traceback = |lines: &str| format!("Traceback\n{lines}ValueError: żółw\n");
        assert_eq!(with_complaint("x".into(), b""), "x");
        let short = traceback("  line 1\n");
        assert_eq!(with_complaint("x".into(), short.as_bytes()), format!("x; standard error: {}", short.trim_end()));
        for fill in 0..4 {
            let long = with_complaint("x".into(), traceback(&("ż".repeat(1000) + &"y".repeat(fill))).as_bytes());
            assert!(long.starts_with("x; standard error: Traceback\nż") && long.ends_with("żółw"), "{long}");
            assert!(long.contains(" [...] ") && long.len() < 900, "{long}");
        }
    }

    #[test]
    fn text_is_made_printable_and_cut_between_characters() {
        assert_eq!(printable(b"a\x1b[31mb\0\r\n\n", 100), "a\u{fffd}[31mb\u{fffd}");
        assert_eq!(printable("żółw".as_bytes(), 4), "żó");
        assert_eq!(printable("żółw".as_bytes(), 5), "żó");
        assert_eq!(printable(&[0xff; 10], 8), "\u{fffd}\u{fffd}");
        assert_eq!(printable("a\u{202e}b".as_bytes(), 8), "a\u{fffd}b");
        assert_eq!(printable(b"", 0), "");
    }

    fn part(answer: Result<Answer, String>) -> (Verdict, Option<f64>) {
        let answer = answer.expect("an answer");
        match answer.points {
            None => (answer.verdict, None),
            Some(Points::Part(part)) => (answer.verdict, Some(part)),
            Some(Points::Absolute(_)) => panic!("{answer:?}"),
        }
    }

    #[test]
    fn answers_of_sim_checkers() {
        assert_eq!(part(sim(0, b"OK", b"")), (Verdict::Accepted, None));
        assert_eq!(part(sim(0, b"OK\n\nwell done\n", b"")), (Verdict::Accepted, None));
        assert_eq!(part(sim(0, b"OK\n12.5\nwell\ndone\n", b"log")), (Verdict::Accepted, Some(0.125)));
        assert_eq!(part(sim(0, b"", b"OK\n0\n")), (Verdict::Accepted, Some(0.0)));
        assert_eq!(part(sim(0, b"WRONG\nwhatever\nwhy", b"")), (Verdict::WrongAnswer, None));
        assert_eq!(sim(0, b"WRONG\n\nwhy\nso\n", b"").unwrap().comment, "why\nso");
        let long = [b"OK\n\n".as_slice(), &[b'x'; 1000]].concat();
        assert_eq!(sim(0, &long, b"").unwrap().comment.len(), SIM_COMMENT_BYTES);
        for garbage in [&b""[..], b"ok", b"OK\n101", b"OK\n-1", b"OK\nnan", b"OK\nhalf", b"OKAY", b" OK", &[0; 9]] {
            sim(0, garbage, b"").expect_err("garbage");
        }
        sim(1, b"OK\n", b"").expect_err("an exit status");
    }

    #[test]
    fn answers_of_testlib_checkers() {
        assert_eq!(part(testlib(0, b"ok 3 numbers")), (Verdict::Accepted, None));
        assert_eq!(testlib(1, b"wrong answer 1st\n").unwrap().comment, "wrong answer 1st");
        for code in [1, 2, 4, 8] {
            assert_eq!(part(testlib(code, b"")), (Verdict::WrongAnswer, None));
        }
        assert_eq!(part(testlib(7, b"points 0.25 half of half")), (Verdict::Accepted, Some(0.25)));
        assert_eq!(part(testlib(7, b"points 0")), (Verdict::WrongAnswer, Some(0.0)));
        assert_eq!(part(testlib(3, b"partially correct (3) so")), (Verdict::Accepted, Some(0.015)));
        for (code, said) in [
            (3, ""),
            (7, ""),
            (16, ""),
            (127, ""),
            (7, "points 30"),
            (7, "points nan"),
            (6, ""),
            (9, "partially correct (900)"),
        ] {
            testlib(code, said.as_bytes()).expect_err(said);
        }
    }
}

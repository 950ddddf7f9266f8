//! The convention of testlib: an exit status, and words on standard error.

use super::answer::{Answer, AnswerFault, MAX_TESTLIB_PARTS};
use super::text::printable;
use crate::verdict::{COMMENT_LIMIT, Points, Verdict};

/// Reads the answer of a checker or interactor that exited with `code`.
pub(super) fn parse(code: i32, stderr: &[u8]) -> Result<Answer, AnswerFault> {
    let comment = printable(stderr, COMMENT_LIMIT);
    let graded = |part: f64| {
        let verdict = if part > 0.0 {
            Verdict::Accepted
        } else {
            Verdict::WrongAnswer
        };
        Answer::new(verdict, comment.clone(), Some(Points::Part(part)))
    };
    // The exit status of "partially correct" is the number of points plus 0, 16 or 50, depending on
    // how testlib was built. The words also distinguish it from status 127, with which a shell
    // reports a missing program.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn part(answer: Result<Answer, AnswerFault>) -> (Verdict, Option<f64>) {
        let answer = answer.expect("an answer");
        match answer.points {
            None => (answer.verdict, None),
            Some(Points::Part(part)) => (answer.verdict, Some(part)),
            Some(Points::Absolute(_)) => panic!("{answer:?}"),
        }
    }

    #[test]
    fn testlib_answers_parse_or_fail() {
        assert_eq!(part(parse(0, b"ok 3 numbers")), (Verdict::Accepted, None));
        assert_eq!(
            parse(1, b"wrong answer 1st\n").unwrap().comment,
            "wrong answer 1st"
        );
        for code in [1, 2, 4, 8] {
            assert_eq!(part(parse(code, b"")), (Verdict::WrongAnswer, None));
        }
        assert_eq!(
            part(parse(7, b"points 0.25 half of half")),
            (Verdict::Accepted, Some(0.25))
        );
        assert_eq!(
            part(parse(7, b"points 0")),
            (Verdict::WrongAnswer, Some(0.0))
        );
        assert_eq!(
            part(parse(3, b"partially correct (3) so")),
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
            parse(code, stderr.as_bytes()).expect_err(stderr);
        }
    }
}

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
    // The words may be text of the submission that a checker prints first, so they count only with
    // a status that confirms them and that is not the status of another result. A checker that
    // gives 0 points has status 0 unless testlib adds a base. The words are then the worse result.
    let parts = parts(&comment);
    let has_meaning = matches!(code, 1..=4 | 7 | 8) || code == 0 && parts != Some(0);
    match parts {
        Some(parts) if !has_meaning && is_status_of(parts, code) => {
            if parts > MAX_TESTLIB_PARTS {
                return Err(AnswerFault::TestlibParts);
            }
            return Ok(graded(f64::from(parts) / f64::from(MAX_TESTLIB_PARTS)));
        }
        _ => {}
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

/// Returns N if the comment begins with `partially correct (N)`.
fn parts(comment: &str) -> Option<u32> {
    let (parts, _) = comment
        .strip_prefix("partially correct (")?
        .split_once(')')?;
    parts.trim().parse().ok()
}

/// Whether a checker that gives this number of points may exit with `code`. testlib adds 50 to the
/// number if it was built with TESTSYS, and 0 otherwise. Old versions added 16.
fn is_status_of(parts: u32, code: i32) -> bool {
    [0, 16, 50]
        .iter()
        .any(|base| i64::from(parts) + base == i64::from(code))
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
        for code in [20, 36, 70] {
            assert_eq!(
                part(parse(code, b"partially correct (20) so")),
                (Verdict::Accepted, Some(0.1))
            );
        }
        assert_eq!(
            part(parse(0, b"partially correct (0)")),
            (Verdict::WrongAnswer, Some(0.0))
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
            (220, "partially correct (220)"),
        ] {
            parse(code, stderr.as_bytes()).expect_err(stderr);
        }
    }

    #[test]
    fn testlib_words_without_matching_status_do_not_count() {
        for code in [1, 2, 4, 8] {
            for parts in [u32::try_from(code).unwrap(), 100, 200] {
                let stderr = format!("partially correct ({parts}) expected 5");
                assert_eq!(
                    part(parse(code, stderr.as_bytes())),
                    (Verdict::WrongAnswer, None)
                );
            }
        }
        assert_eq!(
            part(parse(0, b"partially correct (200)")),
            (Verdict::Accepted, None)
        );
        for code in [3, 7, 9, 127] {
            parse(code, b"partially correct (200)").expect_err("another status");
        }
        parse(3, b"partially correct (3)").expect_err("the checker failed");
    }
}

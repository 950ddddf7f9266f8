//! The convention of Sim: lines on standard output or standard error.

use super::answer::{Answer, AnswerFault};
use super::text::printable;
use crate::verdict::{Points, Verdict};

/// Maximum length of a comment.
const MAX_COMMENT_BYTES: usize = 256;

/// Reads the answer of a checker that exited with `code`.
pub(super) fn parse(code: i32, stdout: &[u8], stderr: &[u8]) -> Result<Answer, AnswerFault> {
    if code != 0 {
        return Err(AnswerFault::SimStatus(code));
    }
    // Sim attaches one file to both streams, so its checkers answer on either.
    let answer = if stdout.is_empty() { stderr } else { stdout };
    let mut lines = answer.splitn(3, |byte| *byte == b'\n');
    let mut line = || printable(lines.next().unwrap_or_default(), 64);
    let (first, second) = (line(), line());
    let comment = printable(lines.next().unwrap_or_default(), MAX_COMMENT_BYTES);
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
    fn sim_answers_parse_or_fail() {
        assert_eq!(part(parse(0, b"OK", b"")), (Verdict::Accepted, None));
        assert_eq!(
            part(parse(0, b"OK\n\nwell done\n", b"")),
            (Verdict::Accepted, None)
        );
        assert_eq!(
            part(parse(0, b"OK\n12.5\nwell\ndone\n", b"log")),
            (Verdict::Accepted, Some(0.125))
        );
        assert_eq!(
            part(parse(0, b"", b"OK\n0\n")),
            (Verdict::Accepted, Some(0.0))
        );
        assert_eq!(
            part(parse(0, b"WRONG\nwhatever\nwhy", b"")),
            (Verdict::WrongAnswer, None)
        );
        assert_eq!(
            parse(0, b"WRONG\n\nwhy\nso\n", b"").unwrap().comment,
            "why\nso"
        );
        let long = [b"OK\n\n".as_slice(), &[b'x'; 1000]].concat();
        assert_eq!(
            parse(0, &long, b"").unwrap().comment.len(),
            MAX_COMMENT_BYTES
        );
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
            parse(0, garbage, b"").expect_err("garbage");
        }
        parse(1, b"OK\n", b"").expect_err("an exit status");
    }
}

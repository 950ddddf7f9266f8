//! The convention of the ICPC formats: an exit status, and files in the feedback directory.

use super::answer::{Answer, AnswerFault};
use super::text::printable;
use crate::feedback::Feedback;
use crate::verdict::{COMMENT_LIMIT, Points, Verdict};

/// Number of bytes of score.txt that are read. Every number that a program prints is shorter.
const MAX_NUMBER_BYTES: usize = 1000;

/// Reads the answer of a validator that exited with `code`.
pub(super) fn parse(code: i32, feedback: &Feedback) -> Result<Answer, AnswerFault> {
    match code {
        42 => Ok(Answer::new(
            Verdict::Accepted,
            messages(feedback),
            points(feedback)?,
        )),
        // The legacy format allows points here; its successor does not. The scoring code checks
        // this.
        43 => {
            let mut comment = messages(feedback);
            if comment.is_empty() {
                "the validator wrote no judgemessage.txt with a reason".clone_into(&mut comment);
            }
            Ok(Answer::new(
                Verdict::WrongAnswer,
                comment,
                points(feedback)?,
            ))
        }
        code => Err(AnswerFault::IcpcStatus(code)),
    }
}

fn points(feedback: &Feedback) -> Result<Option<Points>, AnswerFault> {
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
pub(super) fn messages(feedback: &Feedback) -> String {
    let mut comment = Vec::new();
    for name in ["judgemessage.txt", "teammessage.txt"] {
        // A FIFO, link or directory is not a message. The exit status still counts.
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

//! The rules for submissions, of rounds and of their problems.

use super::{Executor, Result, Tx, Value, record, values};
use crate::core::submission_rules::{Made, SubmissionRules};
use crate::core::time::Time;
use std::time::Duration;

record! {
    Stored {
        languages: String,
        max_submissions: Option<i64>,
        interval_seconds: Option<i64>,
        max_source_bytes: Option<i64>,
    }
}

impl Stored {
    fn rules(self) -> SubmissionRules {
        let bytes = self.max_source_bytes.map(usize::try_from);
        SubmissionRules {
            languages: self
                .languages
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
            max_submissions: self.max_submissions,
            interval: self
                .interval_seconds
                .map(|it| Duration::from_secs(it.unsigned_abs())),
            max_bytes: bytes.and_then(std::result::Result::ok),
        }
    }
}

/// The columns of rules, in the order of the placeholders from `$2` on.
fn columns(id: i64, rules: &SubmissionRules) -> Vec<Value> {
    let interval = rules
        .interval
        .map(|it| i64::try_from(it.as_secs()).unwrap_or(i64::MAX));
    let bytes = rules
        .max_bytes
        .map(|it| i64::try_from(it).unwrap_or(i64::MAX));
    values![
        id,
        rules.languages.join(" "),
        rules.max_submissions,
        interval,
        bytes
    ]
}

/// The rules of a round.
pub async fn of_round(db: impl Executor, round: i64) -> Result<SubmissionRules> {
    let found: Option<Stored> = db
        .first(
            "SELECT languages, max_submissions, interval_seconds, max_source_bytes FROM round
             WHERE id = $1",
            values![round],
        )
        .await?;
    Ok(found.map_or(SubmissionRules::default(), Stored::rules))
}

/// The rules that a problem of a round has itself.
pub async fn of_problem(db: impl Executor, round_problem: i64) -> Result<SubmissionRules> {
    let found: Option<Stored> = db
        .first(
            "SELECT languages, max_submissions, interval_seconds, max_source_bytes
             FROM round_problem WHERE id = $1",
            values![round_problem],
        )
        .await?;
    Ok(found.map_or(SubmissionRules::default(), Stored::rules))
}

/// Changes the rules of a round.
pub async fn set_of_round(tx: &mut Tx, round: i64, rules: &SubmissionRules) -> Result<u64> {
    tx.execute(
        "UPDATE round SET languages = $2, max_submissions = $3, interval_seconds = $4,
            max_source_bytes = $5
         WHERE id = $1",
        columns(round, rules),
    )
    .await
}

/// Changes the rules of a problem in a round.
pub async fn set_of_problem(tx: &mut Tx, id: i64, rules: &SubmissionRules) -> Result<u64> {
    tx.execute(
        "UPDATE round_problem SET languages = $2, max_submissions = $3, interval_seconds = $4,
            max_source_bytes = $5
         WHERE id = $1",
        columns(id, rules),
    )
    .await
}

record! { Counted { count: i64, last: Option<Time>, } }

/// What a participant has submitted to a problem of a round. Ignored submissions and files that the
/// staff has handed in do not count.
pub async fn made(db: impl Executor, participant: i64, round_problem: i64) -> Result<Made> {
    let found: Option<Counted> = db
        .first(
            "SELECT count(*) AS count, max(submitted_at) AS last FROM submission
             WHERE participant_id = $1 AND round_problem_id = $2 AND kind = 'normal'
                AND handed_in_by IS NULL",
            values![participant, round_problem],
        )
        .await?;
    Ok(found.map_or(Made::default(), |one| Made {
        count: one.count,
        last: one.last,
    }))
}
